"""The live pages as an ASGI application: which address is answered by what."""

from collections.abc import Awaitable, Callable, Collection
from pathlib import Path

import duckdb
from anyio import to_thread
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from goodput.errors import (
    GoodputError,
    NothingToReport,
    NotPublished,
    TookTooLong,
    UnknownAlarm,
    UnknownRequest,
    UsageError,
)
from goodput.export.exposition import exposition
from goodput.plumbing.pruned import read_pruned
from goodput.plumbing.store import IN_FOLDER, Store
from goodput.report.page import policy as report_policy
from goodput.serve import answers, pages
from goodput.serve.generations import QUESTION_S, Answer, Generations
from goodput.serve.guard import HEALTH, ReaderGuard
from goodput.serve.question_threads import QuestionThreads
from goodput.serve.report_page import ReportPage
from goodput.serve.request_filter import asked_for, each_once

AGAIN_S = 15
_STATUSES: tuple[tuple[type[GoodputError], int, str], ...] = (
    (NotPublished, 503, "Nothing is published yet"),
    (NothingToReport, 503, "Nothing is published yet"),
    (TookTooLong, 503, "That takes too long"),
    (UnknownRequest, 404, "No such request"),
    (UnknownAlarm, 404, "No such alarm"),
    (UsageError, 400, "That cannot be answered"),
    (GoodputError, 500, "That cannot be answered"),
)


def application(
    lake: Path,
    token: str | None = None,
    hosts: Collection[str] = (),
    question_s: float = QUESTION_S,
    store: Store = IN_FOLDER,
) -> ReaderGuard:
    """The application over one lake, for who has the token and calls this machine by one of the names."""
    site = _Site(lake, question_s, store)
    routes: dict[str, Callable[[Request], Awaitable[Response]]] = {
        "/": site.report,
        "/generation": site.generation,
        "/requests": site.requests,
        "/requests/{key:path}": site.request,
        "/alarms": site.alarms,
        "/alarms/{key}": site.alarm,
        "/alarms/{key}/series.png": site.picture,
        "/metrics": site.metrics,
        HEALTH: site.health,
        "/favicon.ico": _no_icon,
    }
    handlers = {GoodputError: site.failed, HTTPException: _no_page, Exception: _unforeseen}
    found = Starlette(
        routes=[Route(path, answer) for path, answer in routes.items()],
        exception_handlers=handlers,  # type: ignore[arg-type]  # each takes the error that it is for
    )
    return ReaderGuard(found, token, hosts)


class _Site:
    """What each address of one lake answers."""

    def __init__(self, lake: Path, question_s: float, store: Store) -> None:
        self._lake = lake
        self._generations = Generations(lake, question_s, store)
        self._work = QuestionThreads()
        self._page = ReportPage(self._generations, self._work)

    async def report(self, request: Request) -> Response:
        """The page of charts."""
        page = await self._page.newest()
        policy = f"{report_policy(is_live=True)}; form-action 'none'; frame-ancestors 'none'"
        headers = {"etag": page.etag, "cache-control": "private, no-cache", "content-security-policy": policy}
        known = [name.strip().removeprefix("W/") for name in request.headers.get("if-none-match", "").split(",")]
        if page.etag in known:
            return Response(status_code=304, headers=headers)
        return HTMLResponse(page.content, headers=headers)

    async def generation(self, _: Request) -> Response:
        """The name of the newest generation, which changes whenever a run publishes."""
        return PlainTextResponse(self._generations.name())

    async def requests(self, request: Request) -> Response:
        """Requests, by parameters of the address."""
        given = request.query_params.multi_items()

        def asked(connection: duckdb.DuckDBPyConnection, generation: str) -> str:
            wanted = asked_for(each_once(given), lambda: answers.latest_period(connection))
            return pages.requests_page(wanted, answers.requests(connection, wanted), generation)

        return await self._answered(asked)

    async def request(self, request: Request) -> Response:
        """Why one request was or was not accepted."""
        key = request.path_params["key"]
        try:
            return await self._answered(lambda found, name: pages.request_page(answers.request(found, key), name))
        except UnknownRequest as error:
            raise UnknownRequest(key, read_pruned(self._lake).gone_before) from error

    async def alarms(self, request: Request) -> Response:
        """Alarms; with the parameter `all` those too that are inactive or learn."""
        every = "all" in request.query_params
        return await self._answered(
            lambda found, name: pages.alarms_page(*answers.alarms(found, every=every), name, every=every)
        )

    async def alarm(self, request: Request) -> Response:
        """One alarm with what speaks for it."""
        key = request.path_params["key"]

        def asked(connection: duckdb.DuckDBPyConnection, generation: str) -> str:
            found, is_drawn = answers.alarm(connection, key)
            return pages.alarm_page(found, generation, is_drawn=is_drawn)

        return await self._answered(asked)

    async def picture(self, request: Request) -> Response:
        """The series of one alarm."""
        key = request.path_params["key"]
        drawn = await self._asked(lambda found, _: answers.picture(found, key))
        return Response(drawn, media_type="image/png")

    async def metrics(self, _: Request) -> Response:
        """The newest windows as Prometheus scrapes them."""
        text = await self._asked(lambda found, _: exposition(found))
        return Response(text, media_type="text/plain; version=0.0.4; charset=utf-8")

    async def health(self, _: Request) -> Response:
        """Whether the newest generation can be read; before the first there is none, and nothing is wrong."""
        try:
            await to_thread.run_sync(self._generations.check)  # never behind questions that take their time
        except NotPublished:
            return JSONResponse({"status": "ok", "published": False})
        except GoodputError:
            return JSONResponse({"status": "the published database cannot be read"}, 503)
        return JSONResponse({"status": "ok", "published": True})

    async def failed(self, _: Request, error: GoodputError) -> Response:
        """What is wrong with a question, and what to do."""
        status, title = next((status, title) for kind, status, title in _STATUSES if isinstance(error, kind))
        is_waiting = isinstance(error, NotPublished | NothingToReport)
        page = pages.message_page(title, str(error), AGAIN_S if is_waiting else None)
        again = {"retry-after": str(AGAIN_S)} if status == 503 else {}
        return HTMLResponse(page, status, {**_policy(), **again})

    async def _asked(self, question: Callable[[duckdb.DuckDBPyConnection, str], Answer]) -> Answer:
        return await self._work.done(lambda: self._generations.ask(question))

    async def _answered(self, question: Callable[[duckdb.DuckDBPyConnection, str], str]) -> Response:
        return HTMLResponse(await self._asked(question), headers=_policy())


async def _unforeseen(_: Request, __: Exception) -> Response:
    """An error that nobody foresaw; the server prints its traceback."""
    text = "An error that nobody foresaw: `goodput serve` printed what it was."
    return HTMLResponse(pages.message_page("That cannot be answered", text), 500, _policy())


def _policy() -> dict[str, str]:
    return {"content-security-policy": pages.policy()}


async def _no_icon(_: Request) -> Response:
    return Response(status_code=204)


async def _no_page(_: Request, error: HTTPException) -> Response:
    text = "There are /, /requests and /alarms."
    return HTMLResponse(pages.message_page("No such page", text), error.status_code, _policy())
