/**
 * The routes as an OpenAPI 3.1 document. It is made from the same values that are served, so it cannot
 * say anything else: shapes are their own schemas, and what every route may refuse is added here.
 */
import type { Answer, Route } from './route.ts'
import type { JsonSchema } from './shape.ts'

export type ApiInfo = Readonly<{ title: string; version: string }>

/** A route's answers and those of the http layer before it, by status. */
export function answersOf(route: Route): ReadonlyMap<number, Answer> {
  const { access, params, query, answers } = route
  const body = route.body ?? route.upload
  const common: Record<number, Answer> = {
    ...((params ?? query ?? body) !== undefined && {
      400: { description: 'The input is wrong, and every field that is wrong is named.' },
    }),
    ...(access !== 'open' && {
      401: { description: 'The caller did not say who they are, or not in a way that is valid.' },
      403: { description: 'The caller may not do this, or not at this place.' },
    }),
    ...(body !== undefined && {
      413: { description: 'The body is too large.' },
      415: { description: 'The body is of another kind than is read here.' },
    }),
    500: { description: 'The server failed; the body has the id to report.' },
    503: { description: 'The server is going down, is full, or took too long.' },
  }
  const all = Object.entries({ ...common, ...answers })
  return new Map(all.map(([status, answer]) => [Number(status), answer]))
}

export function openapiOf(routes: readonly Route[], info: ApiInfo): JsonSchema {
  const paths: Record<string, Record<string, unknown>> = {}
  for (const route of routes) (paths[route.path] ??= {})[methodOf(route)] = operationOf(route)
  return {
    openapi: '3.1.0',
    info,
    paths,
    components: {
      schemas: { Problem: problemSchema },
      securitySchemes: { bearer: { type: 'http', scheme: 'bearer' } },
    },
  }
}

const problemSchema: JsonSchema = {
  type: 'object',
  description: 'RFC 9457. A refusal may have further members with its facts.',
  properties: {
    type: { type: 'string' },
    title: { type: 'string' },
    status: { type: ['integer', 'string'] },
    detail: { type: 'string' },
    code: { type: 'string' },
    remedy: { type: 'string' },
    traceId: { type: 'string' },
  },
}

const BINARY: JsonSchema = { type: 'string', format: 'binary' }

function methodOf({ method }: Route): string {
  return method.toLowerCase()
}

function operationOf(route: Route): JsonSchema {
  const { summary, description, tag, access, body, upload } = route
  return {
    operationId: operationIdOf(route),
    summary,
    ...(description !== undefined && { description }),
    tags: [tag],
    ...(access !== 'open' && { security: [{ bearer: [] }], 'x-permission': access.permission }),
    parameters: [...parametersOf(route, 'path'), ...parametersOf(route, 'query')],
    ...(body !== undefined && {
      requestBody: {
        required: !body.isOptional,
        content: { 'application/json': { schema: body.schema } },
      },
    }),
    ...(upload !== undefined && {
      requestBody: {
        required: true,
        content: Object.fromEntries(upload.map((type) => [type, { schema: BINARY }])),
      },
    }),
    responses: Object.fromEntries(
      [...answersOf(route)].map(([status, answer]) => [status, responseOf(status, answer)]),
    ),
  }
}

/** `GET /locations/{id}/products` is `getLocationsByIdProducts`. */
function operationIdOf({ method, path }: Route): string {
  const words = path.replaceAll(/\{(\w+)\}/g, ' by $1 ').split(/[^A-Za-z0-9]+/)
  return [method.toLowerCase(), ...words.filter((word) => word !== '').map(capital)].join('')
}

function capital(word: string): string {
  return word.charAt(0).toUpperCase() + word.slice(1)
}

export type Parameter = Readonly<{
  name: string
  in: 'path' | 'query'
  required: boolean
  schema: JsonSchema
}>

export function parametersOf(route: Route, where: Parameter['in']): Parameter[] {
  const schema = (where === 'path' ? route.params : route.query)?.schema ?? {}
  const properties = isSchema(schema['properties']) ? schema['properties'] : {}
  const required = Array.isArray(schema['required']) ? schema['required'] : []
  const names =
    where === 'path'
      ? [...route.path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name)
      : Object.keys(properties)
  return names.map((name) => {
    const own = properties[name]
    return {
      name,
      in: where,
      required: where === 'path' || required.includes(name),
      schema: isSchema(own) ? own : { type: 'string' },
    }
  })
}

function responseOf(status: number, answer: Answer): JsonSchema {
  const { description, schema, headers, contentType } = answer
  const isProblem = status >= 400
  const type = contentType ?? (isProblem ? 'application/problem+json' : 'application/json')
  const shown = schema ?? (isProblem ? { $ref: '#/components/schemas/Problem' } : undefined)
  return {
    description,
    ...((shown !== undefined || contentType !== undefined) && {
      content: { [type]: shown === undefined ? {} : { schema: shown } },
    }),
    ...(headers !== undefined && {
      headers: Object.fromEntries(
        Object.entries(headers).map(([name, says]) => [
          name,
          { description: says, schema: { type: 'string' } },
        ]),
      ),
    }),
  }
}

function isSchema(value: unknown): value is JsonSchema {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
