/**
 * What the API says about itself: `/openapi.json` for machines and `/docs` for people. The page is
 * written once, when the server is made; it needs no script, and its one stylesheet is its own file, so
 * the content-security policy lets nothing else in.
 */
import { hash } from 'node:crypto'

import { css } from './docs-style.ts'
import { answersOf, openapiOf, parametersOf, type ApiInfo } from './openapi.ts'
import { json, route, type Reply, type Route } from './route.ts'
import type { JsonSchema } from './shape.ts'

const PAGE_POLICY = "default-src 'none'; style-src 'self'; frame-ancestors 'none'; base-uri 'none'"

export function docsRoutes(served: readonly Route[], info: ApiInfo): readonly Route[] {
  const own: Route[] = [
    textRoute('/openapi.json', 'This API as an OpenAPI 3.1 document', 'application/json', () =>
      JSON.stringify(openapiOf(all, info)),
    ),
    textRoute('/docs', 'This API as a page', 'text/html; charset=utf-8', () => pageOf(all, info)),
    textRoute('/docs/style.css', 'The looks of that page', 'text/css; charset=utf-8', () => css),
  ]
  const all: readonly Route[] = [...served, ...own]
  return own
}

function textRoute(path: string, summary: string, contentType: string, write: () => string): Route {
  let reply: Reply | undefined
  let etag = ''
  return route({
    method: 'GET',
    path,
    summary,
    tag: 'documentation',
    access: 'open',
    answers: { 200: { description: summary, contentType } },
    handle({ headers }) {
      if (reply === undefined) {
        const text = write()
        etag = `"${hash('sha256', text, 'base64url').slice(0, 22)}"`
        reply = {
          status: 200,
          text,
          headers: {
            'content-type': contentType,
            'cache-control': 'no-cache',
            'content-security-policy': PAGE_POLICY,
            etag,
          },
        }
      }
      return headers['if-none-match'] === etag ? json(304, undefined, { etag }) : reply
    },
  })
}

function pageOf(routes: readonly Route[], info: ApiInfo): string {
  const tags = [...Map.groupBy(routes, ({ tag }) => tag)]
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${esc(info.title)}</title>
<link rel="stylesheet" href="/docs/style.css">
</head>
<body>
<header>
<h1>${esc(info.title)} <small>${esc(info.version)}</small></h1>
<p>${routes.length} routes. For machines: <a href="/openapi.json">openapi.json</a>. Errors are
<code>application/problem+json</code> with a <code>code</code>, a <code>remedy</code> and a
<code>traceId</code>.</p>
</header>
<nav aria-label="Routes">
${tags.map(([tag, same]) => `<h2>${esc(tag)}</h2>\n<ul>\n${same.map(linkTo).join('\n')}\n</ul>`).join('\n')}
</nav>
<main>
${tags.map(([tag, same]) => `<section>\n<h2>${esc(tag)}</h2>\n${same.map(articleOf).join('\n')}\n</section>`).join('\n')}
</main>
</body>
</html>
`
}

function linkTo(one: Route): string {
  return `<li><a href="#${anchorOf(one)}"><b>${one.method}</b> ${esc(one.path)}</a></li>`
}

function articleOf(one: Route): string {
  const { method, path, summary, description, access, body } = one
  const right = access === 'open' ? 'anybody' : access.permission
  return `<article id="${anchorOf(one)}">
<h3><b>${method}</b> <code>${esc(path)}</code></h3>
<p>${esc(summary)}</p>
${description === undefined ? '' : `<p>${esc(description)}</p>`}
<p class="right">Needs: <code>${esc(right)}</code></p>
${parametersTable(one)}
${body === undefined ? '' : `<h4>Body</h4>\n${schemaBlock(body.schema)}`}
<h4>Answers</h4>
<table>
<tbody>
${[...answersOf(one)].map(([status, { description: says, schema }]) => `<tr><th scope="row">${status}</th><td>${esc(says)}${schema === undefined ? '' : schemaBlock(schema)}</td></tr>`).join('\n')}
</tbody>
</table>
</article>`
}

function parametersTable(one: Route): string {
  const parameters = [...parametersOf(one, 'path'), ...parametersOf(one, 'query')]
  if (parameters.length === 0) return ''
  const rows = parameters.map(
    ({ name, in: where, required, schema }) =>
      `<tr><th scope="row"><code>${esc(name)}</code></th><td>${where}${required ? '' : ', optional'}</td><td><code>${esc(JSON.stringify(schema))}</code></td></tr>`,
  )
  return `<h4>Parameters</h4>\n<table>\n<tbody>\n${rows.join('\n')}\n</tbody>\n</table>`
}

function schemaBlock(schema: JsonSchema): string {
  return `<details><summary>Schema</summary><pre>${esc(JSON.stringify(schema, undefined, 2))}</pre></details>`
}

function anchorOf({ method, path }: Route): string {
  return `${method}${path}`.replaceAll(/[^A-Za-z0-9]+/g, '-').toLowerCase()
}

function esc(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)
}
