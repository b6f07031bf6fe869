/**
 * Every setting there is: its name, what it may be, what it is unless somebody says otherwise.
 *
 * Names are flat and dotted. A file may nest them (`listen: { port: 8470 }`) or write them out
 * (`listen.port: 8470`); in the environment the same one is FLYTOWER_LISTEN_PORT. The table below and
 * `docs/reference/config.md` are held together by a test. Taking a name away, or giving it another
 * meaning, breaks the configs of people: add one instead.
 */
import type { SqsKey } from '../broker/index.ts'
import {
  BODY_BYTES_DEFAULT,
  custom,
  flag,
  listOf,
  oneOf,
  optional,
  shape,
  text,
  whole,
  type Shape,
} from '../http/index.ts'
import { PRODUCT, type LogLevel } from '../std/index.ts'
import { duration, durationText, size, sizeText } from './units.ts'

export type TokenSetting = Readonly<{
  name: string
  sha256: string
  roles: readonly string[]
  places?: readonly string[]
}>

export type Config = Readonly<{
  'listen.host': string
  'listen.port': number
  'data.directory': string
  'log.level': LogLevel
  'log.format': 'json' | 'pretty'
  'log.requests': boolean
  'auth.tokens': readonly TokenSetting[]
  'auth.policy': string | undefined
  'auth.jwt.issuer': string | undefined
  'auth.jwt.audience': string | undefined
  'auth.jwt.keys': string | undefined
  'http.bodyMax': number
  'http.requestTimeout': number
  'http.connectionsMax': number
  'stockPot.unloadAfterInactivity': number
  'stockPot.unloadCheckInterval': number
  'stock.locations.source': 'registry' | 'file' | 'remote'
  'stock.locations.file': string | undefined
  'stock.locations.url': string | undefined
  'stock.locations.staleFor': number
  'stock.locations.timeout': number
  'stock.locations.attempts': number
  'stock.locations.delay': number
  'stock.locations.failures': number
  'stock.locations.quiet': number
  'stock.futureSkew': number
  'stock.booksClosedBefore': string | undefined
  'stock.oversell': 'accept' | 'refuse'
  'broker.account': string
  'broker.region': string
  'broker.bodiesMax': number
  'broker.sqs.limits': 'strict' | 'relaxed'
  'broker.sqs.keys': readonly SqsKey[]
  'probe.slots': number
  'probe.policy': 'first-ready' | 'strict'
  'probe.depth': number
  'probe.setupTime': number
  'probe.loadingTime': number
  'probe.testingTime': number
  'probe.keepTime': number
  'probe.grace': number
  'probe.interrupted': 'requeue' | 'keep'
  'probe.attempts': number
  'probe.retention': number
  'probe.retentionTests': number
  'probe.isolation': 'auto' | 'sandbox' | 'process'
  'probe.memoryMax': number
  'probe.processesMax': number
  'probe.bundleMax': number
  'probe.bundleRoots': readonly string[]
  'probe.httpAllow': readonly string[]
  'probe.s3.region': string
  'probe.s3.endpoint': string | undefined
  'probe.s3.pathStyle': boolean
  'probe.secrets.store': 'file' | 'env' | 'vault'
  'probe.secrets.file': string | undefined
  'probe.secrets.passphraseFile': string | undefined
  'probe.vault.address': string | undefined
  'probe.vault.tokenFile': string | undefined
  'probe.vault.mount': string
  'probe.vault.namespace': string | undefined
  'probe.kafka.bootstrapServers': string | undefined
  'probe.kafka.registry': string | undefined
  'shutdown.drain': number
  'shutdown.total': number
}>

export type Key<Value> = Readonly<{
  shape: Shape<Value>
  fallback: Value
  /** As a file would say it. */
  written: (value: Value) => unknown
}>

const HOUR_MS = 3_600_000
const DAY_MS = 86_400_000
const PATH_CHARS_MAX = 4_096
const TOKENS_MAX = 1_000
const PLACES_MAX = 1_000
const SQS_KEYS_MAX = 1_000
const NAME_CHARS_MAX = 200

/** What takes the place of a secret wherever a config is shown. */
export const REDACTED = '***'

export const MEMORY = 'memory'

const token: Shape<TokenSetting> = shape(
  {
    name: text({ min: 1, max: NAME_CHARS_MAX }),
    sha256: text({ min: 64, max: 64, pattern: /^[0-9a-f]{64}$/ }),
    roles: listOf(text({ min: 1, max: NAME_CHARS_MAX }), { min: 1, max: 20 }),
    places: optional(listOf(text({ min: 1, max: NAME_CHARS_MAX }), { max: PLACES_MAX })),
  },
  { exact: true },
)

const patterns = listOf(text({ min: 1, max: NAME_CHARS_MAX }), { min: 1, max: PLACES_MAX })

const sqsKey: Shape<SqsKey> = shape(
  {
    accessKeyId: text({ min: 1, max: 128, pattern: /^\w+$/ }),
    secretAccessKey: text({ min: 1, max: 256 }),
    account: optional(text({ min: 1, max: 20, pattern: /^\d+$/ })),
    policy: optional(
      listOf(
        shape(
          { effect: oneOf(['allow', 'deny']), actions: patterns, queues: patterns },
          { exact: true },
        ),
        { max: PLACES_MAX },
      ),
    ),
  },
  { exact: true },
)

export const KEYS: { readonly [Name in keyof Config]: Key<Config[Name]> } = {
  'listen.host': plain(text({ min: 1, max: 255 }), '127.0.0.1'),
  'listen.port': plain(whole(0, 65_535), 8_470),
  'data.directory': plain(text({ min: 1, max: PATH_CHARS_MAX }), './data'),
  'log.level': plain(oneOf(['debug', 'info', 'warn', 'error']), 'info'),
  'log.format': plain(oneOf(['json', 'pretty']), 'json'),
  'log.requests': plain(flag(), false),
  'auth.tokens': {
    shape: listOf(token, { max: TOKENS_MAX }),
    fallback: [],
    written: (tokens) => tokens.map((each) => ({ ...each, sha256: REDACTED })),
  },
  'auth.policy': unset(text({ min: 1, max: PATH_CHARS_MAX })),
  'auth.jwt.issuer': unset(text({ min: 1, max: PATH_CHARS_MAX })),
  'auth.jwt.audience': unset(text({ min: 1, max: PATH_CHARS_MAX })),
  'auth.jwt.keys': { ...unset(fileOrUrl()), written: withoutPassword },
  'http.bodyMax': sized(size(1_024, 16 * 2 ** 20), BODY_BYTES_DEFAULT),
  'http.requestTimeout': timed(duration(100, HOUR_MS), 30_000),
  'http.connectionsMax': plain(whole(1, 1_000_000), 15_000),
  'stockPot.unloadAfterInactivity': timed(duration(1, DAY_MS), 300_000),
  'stockPot.unloadCheckInterval': timed(duration(1, DAY_MS), 30_000),
  'stock.locations.source': plain(oneOf(['registry', 'file', 'remote']), 'registry'),
  'stock.locations.file': unset(text({ min: 1, max: PATH_CHARS_MAX })),
  'stock.locations.url': { ...unset(httpUrl()), written: withoutPassword },
  'stock.locations.staleFor': timed(duration(0, DAY_MS), 300_000),
  'stock.locations.timeout': timed(duration(1, HOUR_MS), 2_000),
  'stock.locations.attempts': plain(whole(1, 10), 3), // the first one included
  'stock.locations.delay': timed(duration(0, HOUR_MS), 100),
  'stock.locations.failures': plain(whole(1, 1_000), 5), // attempts in a row
  'stock.locations.quiet': timed(duration(1, DAY_MS), 60_000),
  'stock.futureSkew': timed(duration(0, DAY_MS), 300_000),
  'stock.booksClosedBefore': unset(moment()),
  'stock.oversell': plain(oneOf(['accept', 'refuse']), 'accept'),
  'broker.account': plain(text({ min: 1, max: 20, pattern: /^\d+$/ }), '000000000000'),
  'broker.region': plain(text({ min: 1, max: 64, pattern: /^[a-z0-9-]+$/ }), 'local'),
  'broker.bodiesMax': sized(size(2 ** 20, 64 * 2 ** 30), 64 * 2 ** 20),
  'broker.sqs.limits': plain(oneOf(['strict', 'relaxed']), 'strict'),
  'broker.sqs.keys': {
    shape: listOf(sqsKey, { max: SQS_KEYS_MAX }),
    fallback: [],
    written: (keys) => keys.map((each) => ({ ...each, secretAccessKey: REDACTED })),
  },
  'probe.slots': plain(whole(1, 100), 1),
  'probe.policy': plain(oneOf(['first-ready', 'strict']), 'first-ready'),
  'probe.depth': plain(whole(1, 100_000), 1_000),
  'probe.setupTime': timed(duration(1_000, DAY_MS), 600_000), // bringing the bundle is part of it
  'probe.loadingTime': timed(duration(1_000, DAY_MS), 120_000),
  'probe.testingTime': timed(duration(1_000, DAY_MS), 300_000),
  'probe.keepTime': timed(duration(1_000, DAY_MS), 60_000),
  'probe.grace': timed(duration(1, HOUR_MS), 5_000),
  'probe.interrupted': plain(oneOf(['requeue', 'keep']), 'requeue'),
  'probe.attempts': plain(whole(1, 100), 3),
  'probe.retention': timed(duration(60_000, 3_650 * DAY_MS), 30 * DAY_MS),
  'probe.retentionTests': plain(whole(1, 10_000_000), 100_000),
  'probe.isolation': plain(oneOf(['auto', 'sandbox', 'process']), 'auto'),
  'probe.memoryMax': sized(size(64 * 2 ** 20, 64 * 2 ** 30), 2 ** 30),
  'probe.processesMax': plain(whole(8, 10_000), 64),
  'probe.bundleMax': sized(size(2 ** 20, 16 * 2 ** 30), 256 * 2 ** 20),
  'probe.bundleRoots': plain(listOf(text({ min: 1, max: PATH_CHARS_MAX }), { max: 100 }), []),
  'probe.httpAllow': plain(listOf(text({ min: 1, max: PATH_CHARS_MAX }), { max: 1_000 }), []),
  'probe.s3.region': plain(text({ min: 1, max: 64, pattern: /^[a-z0-9-]+$/ }), 'us-east-1'),
  'probe.s3.endpoint': { ...unset(httpUrl()), written: withoutPassword },
  'probe.s3.pathStyle': plain(flag(), false),
  'probe.secrets.store': plain(oneOf(['file', 'env', 'vault']), 'file'),
  'probe.secrets.file': unset(text({ min: 1, max: PATH_CHARS_MAX })),
  'probe.secrets.passphraseFile': unset(text({ min: 1, max: PATH_CHARS_MAX })),
  'probe.vault.address': { ...unset(httpUrl()), written: withoutPassword },
  'probe.vault.tokenFile': unset(text({ min: 1, max: PATH_CHARS_MAX })),
  'probe.vault.mount': plain(text({ min: 1, max: 200, pattern: /^[\w/-]+$/ }), 'secret'),
  'probe.vault.namespace': unset(text({ min: 1, max: 200 })),
  'probe.kafka.bootstrapServers': unset(text({ min: 1, max: PATH_CHARS_MAX })),
  'probe.kafka.registry': { ...unset(httpUrl()), written: withoutPassword },
  'shutdown.drain': timed(duration(0, HOUR_MS), 2_000),
  'shutdown.total': timed(duration(100, HOUR_MS), 5_000),
}

export type KeyName = keyof Config

// oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the keys of that very table
export const KEY_NAMES: readonly KeyName[] = Object.keys(KEYS) as KeyName[]

/** What the same setting is called in the environment. */
export function variableOf(name: string): string {
  const words = name.replaceAll('.', '_').replaceAll(/[A-Z]/g, (letter) => `_${letter}`)
  return `${PRODUCT}_${words}`.toUpperCase()
}

function plain<Value>(of: Shape<Value>, fallback: Value): Key<Value> {
  return { shape: of, fallback, written: (value) => value }
}

function unset(of: Shape<string>): Key<string | undefined> {
  return { shape: of, fallback: undefined, written: (value) => value }
}

function timed(of: Shape<number>, fallbackMs: number): Key<number> {
  return { shape: of, fallback: fallbackMs, written: durationText }
}

function sized(of: Shape<number>, fallbackBytes: number): Key<number> {
  return { shape: of, fallback: fallbackBytes, written: sizeText }
}

function httpUrl(): Shape<string> {
  return custom({
    schema: { type: 'string', format: 'uri' },
    expected: 'a URL that begins with http:// or https://',
    read: (value) =>
      typeof value === 'string' && /^https?:\/\//.test(value) && URL.canParse(value)
        ? value
        : undefined,
  })
}

function fileOrUrl(): Shape<string> {
  return custom({
    schema: { type: 'string', minLength: 1, maxLength: PATH_CHARS_MAX },
    expected: 'a file, or a URL that begins with http:// or https://',
    read: (value) =>
      typeof value === 'string' &&
      value !== '' &&
      value.length <= PATH_CHARS_MAX &&
      (!/^https?:/.test(value) || URL.canParse(value))
        ? value
        : undefined,
  })
}

function moment(): Shape<string> {
  const pattern = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,3})?)?Z$/ // the stock knows the calendar
  return custom({
    schema: { type: 'string', format: 'date-time' },
    expected: 'a moment in UTC, such as 2027-01-01T00:00:00Z',
    read: (value) => (typeof value === 'string' && pattern.test(value) ? value : undefined),
  })
}

/** A URL may carry one; a path is left as it is. */
function withoutPassword(value: string | undefined): string | undefined {
  return value?.replace(/^(\w+:\/\/)[^/@]*@/, `$1${REDACTED}@`)
}
