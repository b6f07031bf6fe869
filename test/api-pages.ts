/** What the pages about an API say, for tests that hold them to its routes. */
import { readFileSync } from 'node:fs'
import { openapiOf, type Route } from '../src/http/index.ts'

const ORIGIN = /http:\/\/127\.0\.0\.1:8470([^\s'"?;]*)/g

/** The cells of the table under a heading of the page, without their marks. */
export function rowsUnder(page: string, heading: string): string[][] {
  const text = readFileSync(page, 'utf8')
  const from = text.indexOf(`\n${heading}\n`)
  const to = text.indexOf('\n## ', from + 1)
  return text
    .slice(from, to === -1 ? undefined : to)
    .split('\n')
    .filter((line) => line.startsWith('| `'))
    .map((line) => line.split('|').slice(1, -1))
    .map((cells) => cells.map((cell) => cell.trim().replaceAll('`', '')))
}

/** What the table of endpoints must have: the route, its permission, its answers and what it is for. */
export function endpointRows(routes: readonly Route[]): string[][] {
  const { paths } = openapiOf(routes, { title: '', version: '' }) as Document
  return routes.map(({ method, path, access, summary }) => {
    const { responses } = paths[path]![method.toLowerCase()]!
    const permission = access === 'open' ? 'none' : access.permission
    return [`${method} ${path}`, permission, Object.keys(responses).join(', '), summary]
  })
}

type Document = Readonly<{
  paths: Readonly<Record<string, Readonly<Record<string, { responses: object }>>>>
}>

/** The paths of those routes that no command of the page asks. */
export function pathsWithoutCommand(page: string, routes: readonly Route[]): string[] {
  const text = readFileSync(page, 'utf8')
  const asked = [...text.matchAll(ORIGIN)].map(([, path = '']) => path)
  return routes
    .map(({ path }) => path)
    .filter((path) => {
      const pattern = new RegExp(`^${path.replaceAll(/\{\w+\}/g, '[^/]+')}$`)
      return !asked.some((each) => pattern.test(each))
    })
}
