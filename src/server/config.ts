/**
 * The config: defaults, then a file, then the environment, then flags, each over the one before.
 *
 * Nothing is guessed and nothing is ignored. A name nobody knows is refused with the one that was
 * probably meant, and everything that is wrong is said at once, each with the place it stands at.
 */
import { existsSync } from 'node:fs'
import { join } from 'node:path'

import { nearest, type Issue } from '../http/index.ts'
import { Accident, assert, fault, PRODUCT } from '../std/index.ts'
import { readConfigFile, type Given } from './config-file.ts'
import { KEY_NAMES, KEYS, variableOf, type Config, type KeyName } from './config-keys.ts'

export type ConfigSources = Readonly<{
  /** The file that was asked for; otherwise those of `CONFIG_FILES` that is there, if one is. */
  file?: string | undefined
  directory: string
  environment: Readonly<Record<string, string | undefined>>
  /** By the name of the setting, with the flag that gave it. */
  flags: readonly Readonly<{ name: string; value: string; flag: string }>[]
}>

export type Loaded = Readonly<{
  config: Config
  /** Where each setting that is not the default was given. */
  places: ReadonlyMap<KeyName, string>
}>

export type ConfigProblem = Readonly<{ key: string; place: string; problem: string }>

/** Looked for in the working directory. */
export const CONFIG_FILES: readonly string[] = [
  `${PRODUCT}.yaml`,
  `${PRODUCT}.yml`,
  `${PRODUCT}.json`,
]

/** Variables with our prefix that are no setting. */
const CONFIG_VARIABLE = 'FLYTOWER_CONFIG'
export const TOKEN_VARIABLE = 'FLYTOWER_TOKEN'
/** The passphrase of the file of secrets, where no file has it. */
export const PASSPHRASE_VARIABLE = 'FLYTOWER_SECRETS_PASSPHRASE'
const NO_SETTINGS: ReadonlySet<string> = new Set([
  CONFIG_VARIABLE,
  TOKEN_VARIABLE,
  PASSPHRASE_VARIABLE,
])
/** Secrets of tests, by their names. */
const SECRET = `${PRODUCT.toUpperCase()}_SECRET_`
/** Kubernetes sets these for every service of our name that it knows. */
const SERVICE_LINK = new RegExp(`^${PRODUCT.toUpperCase()}_(?:SERVICE_|PORT(?:_|$))`)

/** Throws `bad-config` with everything that is wrong. */
export async function loadConfig(sources: ConfigSources): Promise<Loaded> {
  const problems: ConfigProblem[] = []
  const values = new Map<KeyName, unknown>()
  const places = new Map<KeyName, string>()
  const layers = [
    await fromFile(sources),
    fromEnvironment(sources.environment, problems),
    sources.flags.map(({ name, value, flag }) => ({ name, value, place: `the flag ${flag}` })),
  ]
  for (const [depth, layer] of layers.entries()) {
    const seen = new Map<string, string>()
    for (const given of layer) {
      const { name, place } = given
      const earlier = seen.get(name)
      seen.set(name, place)
      if (!isKey(name)) {
        problems.push(unknown(name, place))
        continue
      }
      if (earlier !== undefined)
        problems.push({ key: name, place, problem: `it is given twice, first at ${earlier}` })
      const value = readValue(name, given, depth > 0, problems)
      if (value === undefined) continue
      values.set(name, value)
      places.set(name, place)
    }
  }
  const config = complete(values)
  if (problems.length === 0) judgeTogether(config, places, problems)
  if (problems.length > 0) throw badConfig(problems)
  return { config, places }
}

/** All settings as a file would say them, secrets left out. */
export function writtenConfig(config: Config): Readonly<Record<KeyName, unknown>> {
  const written = KEY_NAMES.map((name) => [name, writtenValue(config, name)] as const)
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- one for each name
  return Object.fromEntries(written) as Record<KeyName, unknown>
}

// oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- it ties the value to its key
function writtenValue<Name extends KeyName>(config: Config, name: Name): unknown {
  return KEYS[name].written(config[name])
}

async function fromFile(sources: ConfigSources): Promise<readonly Given[]> {
  const asked = sources.file ?? sources.environment[CONFIG_VARIABLE]
  if (asked !== undefined) return readConfigFile(asked, isKey)
  const found = CONFIG_FILES.filter((name) => existsSync(join(sources.directory, name)))
  if (found.length > 1)
    throw badConfig([
      { key: '', place: sources.directory, problem: `there are ${found.join(' and ')}; keep one` },
    ])
  return found.length === 0 ? [] : readConfigFile(join(sources.directory, found[0]!), isKey)
}

function fromEnvironment(
  environment: ConfigSources['environment'],
  problems: ConfigProblem[],
): Given[] {
  const names = new Map(KEY_NAMES.map((name) => [variableOf(name), name]))
  return Object.entries(environment).flatMap(([variable, value]) => {
    if (!variable.startsWith(`${PRODUCT.toUpperCase()}_`) || value === undefined) return []
    if (NO_SETTINGS.has(variable) || variable.startsWith(SECRET)) return []
    const name = names.get(variable)
    if (name !== undefined) return [{ name, value, place: `the environment (${variable})` }]
    if (!SERVICE_LINK.test(variable)) {
      const meant = nearest(variable, [...names.keys()])
      const suggestion = meant === undefined ? '' : `; did you mean ${meant}?`
      const problem = `there is no setting of that name${suggestion}`
      problems.push({ key: variable, place: 'the environment', problem })
    }
    return []
  })
}

function isKey(name: string): name is KeyName {
  return Object.hasOwn(KEYS, name)
}

function unknown(name: string, place: string): ConfigProblem {
  const meant = nearest(name, KEY_NAMES) ?? childOf(name)
  const suggestion = meant === undefined ? '' : `; did you mean ${meant}?`
  return { key: name, place, problem: `there is no setting of that name${suggestion}` }
}

/** Somebody gave a value to the group of a setting, or left its group out. */
function childOf(name: string): string | undefined {
  return KEY_NAMES.find((key) => key.startsWith(`${name}.`) || key.endsWith(`.${name}`))
}

/** What is not in a file is a text; where a text will not do, what it says as JSON may. */
function readValue(
  name: KeyName,
  { value, place }: Given,
  isText: boolean,
  problems: ConfigProblem[],
): unknown {
  const issues: Issue[] = []
  const { shape: of } = KEYS[name]
  const read = of.read(value, name, issues)
  if (issues.length === 0) return read
  if (isText && typeof value === 'string') {
    const fromJson: Issue[] = []
    const parsed = of.read(jsonOf(value), name, fromJson)
    if (fromJson.length === 0) return parsed
  }
  for (const issue of issues) problems.push({ key: issue.path, place, problem: problemOf(issue) })
  return undefined
}

function problemOf({ problem, expected }: Issue): string {
  if (expected.startsWith('no such field')) return expected // with what was probably meant
  return problem === 'missing' ? `it is missing: ${expected}` : `it must be ${expected}`
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function complete(values: ReadonlyMap<KeyName, unknown>): Config {
  const all = KEY_NAMES.map((name) => [name, values.get(name) ?? KEYS[name].fallback])
  assert(all.length === KEY_NAMES.length, 'every setting has a value')
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- each was read by its own shape
  return Object.fromEntries(all) as Config
}

/** What no single setting can tell. */
function judgeTogether(
  config: Config,
  places: ReadonlyMap<KeyName, string>,
  problems: ConfigProblem[],
): void {
  const need = (name: KeyName, because: KeyName): void => {
    if (config[name] !== undefined) return
    const place = places.get(because) ?? 'the defaults'
    problems.push({ key: name, place, problem: `${because} needs it` })
  }
  const source = config['stock.locations.source']
  if (source === 'file') need('stock.locations.file', 'stock.locations.source')
  if (source === 'remote') need('stock.locations.url', 'stock.locations.source')
  for (const name of ['auth.jwt.issuer', 'auth.jwt.audience', 'auth.jwt.keys'] as const) {
    if (config[name] === undefined) continue
    need('auth.jwt.issuer', name)
    need('auth.jwt.audience', name)
    need('auth.jwt.keys', name)
    break
  }
  if (config['stock.locations.failures'] < config['stock.locations.attempts'])
    problems.push({
      key: 'stock.locations.failures',
      place:
        places.get('stock.locations.failures') ??
        places.get('stock.locations.attempts') ??
        'the defaults',
      problem:
        'it must not be fewer than stock.locations.attempts, or one request stops all others',
    })
  if (config['shutdown.drain'] > config['shutdown.total'])
    problems.push({
      key: 'shutdown.drain',
      place: places.get('shutdown.drain') ?? places.get('shutdown.total') ?? 'the defaults',
      problem: 'it must not be longer than shutdown.total',
    })
}

function badConfig(problems: readonly ConfigProblem[]): Accident<'bad-config'> {
  const told = problems.map(({ key, place, problem }) => `${place}: ${key}: ${problem}`)
  return new Accident(
    fault('bad-config', `the config is refused: ${told.join('; ')}`, {
      problems,
      remedy: 'docs/reference/config.md has every setting',
    }),
  )
}
