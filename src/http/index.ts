/** HTTP as values: routes, shapes, principals; the server behind them is nobody's business. */
export { fields, list } from './answer-schema.ts'
export {
  anyOf,
  loopbackAuthenticator,
  mayDo,
  staticTokens,
  type Authenticator,
  type Principal,
  type StaticToken,
} from './auth.ts'
export { feed, type FeedItem } from './feed.ts'
export type { Http, HttpOptions, Injected, InjectedAnswer } from './http.ts'
export { keySet, keySetFile, keySetUrl, type KeySetLoader, type KeySource } from './jwks.ts'
export { jwtAuthenticator, type JwtOptions } from './jwt.ts'
export {
  BODY_BYTES_DEFAULT,
  defaultLimits,
  HEADER_BYTES_DEFAULT,
  HEADERS_DEFAULT,
  JSON_DEPTH_MAX,
  PARAM_CHARS_MAX,
  QUERY_FIELDS_MAX,
  type HttpLimits,
} from './limits.ts'
export {
  EXPOSITION_TYPE,
  expositionOf,
  type HistogramSample,
  type Labels,
  type Metric,
  type Sample,
} from './metrics.ts'
export { parseBody, type ParsedBody } from './json-body.ts'
export { openapiOf, type ApiInfo } from './openapi.ts'
export { defaultPolicy, permissionsOfRoles, policyShape, type Policy } from './policy.ts'
export { problem } from './problem.ts'
export type { RawHead, RawReply, RawRequest, RawService } from './raw.ts'
export {
  json,
  route,
  type Access,
  type Answer,
  type Call,
  type Method,
  type ParamsOf,
  type RawParams,
  type Reply,
  type Route,
  type RouteDefinition,
} from './route.ts'
export { createHttp } from './server.ts'
export {
  custom,
  flag,
  listOf,
  nearest,
  oneOf,
  optional,
  readShape,
  shape,
  text,
  whole,
  type Issue,
  type JsonSchema,
  type Shape,
  type Shaped,
  type TypeOf,
} from './shape.ts'
