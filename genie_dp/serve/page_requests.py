"""The common parts of apps with pages: reading forms, and serving the files of pages."""

from urllib.parse import parse_qsl

from fastapi import FastAPI, HTTPException, Request, Response


async def read_form(request: Request, most_fields: int) -> dict[str, str]:
    """Return the fields of a form, whose size the gate has limited.

    Raises:
        HTTPException: 400, it is none, or has more fields.
    """
    body = (await request.body()).decode("utf-8", "replace")
    try:
        return dict(parse_qsl(body, keep_blank_values=True, max_num_fields=most_fields))
    except ValueError:
        raise HTTPException(400, "this is no form") from None


def add_file(app: FastAPI, path: str, content: bytes, kind: str) -> None:
    """Add a file to an app; an empty one is answered by 204."""

    async def give() -> Response:
        return Response(content, 200 if content else 204, media_type=kind)

    app.add_api_route(path, give, methods=["GET"], include_in_schema=False)
