import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test, type TestContext } from 'node:test'

import { Accident } from '../std/index.ts'
import { CONFIG_BYTES_MAX } from './config-file.ts'
import { KEY_NAMES, KEYS, variableOf } from './config-keys.ts'
import { loadConfig, writtenConfig, type ConfigProblem, type ConfigSources } from './config.ts'
import { duration, durationText, size, sizeText } from './units.ts'

const HASH = 'a'.repeat(64)

function sources(over: Partial<ConfigSources> = {}): ConfigSources {
  return {
    directory: join(tmpdir(), 'there-is-no-such-directory'),
    environment: {},
    flags: [],
    ...over,
  }
}

function folder(t: TestContext, files: Readonly<Record<string, string>>): string {
  const directory = mkdtempSync(join(tmpdir(), 'config-'))
  t.after(() => rmSync(directory, { recursive: true }))
  for (const [name, text] of Object.entries(files)) writeFileSync(join(directory, name), text)
  return directory
}

async function problemsOf(given: ConfigSources): Promise<readonly ConfigProblem[]> {
  const error = await loadConfig(given).then(
    () => assert.fail('it was accepted'),
    (why: unknown) => why,
  )
  assert.ok(error instanceof Accident)
  assert.equal(error.code, 'bad-config')
  assert.equal(typeof error.detail['remedy'], 'string')
  return error.detail['problems'] as readonly ConfigProblem[]
}

describe('the config', () => {
  test('has a default for everything, and each default is one that could be given', async () => {
    const { config, places } = await loadConfig(sources())
    assert.equal(config['listen.host'], '127.0.0.1')
    assert.equal(config['listen.port'], 8_470)
    assert.equal(config['stockPot.unloadAfterInactivity'], 300_000)
    assert.equal(config['stockPot.unloadCheckInterval'], 30_000)
    assert.equal(places.size, 0)
    const written = writtenConfig(config)
    for (const name of KEY_NAMES) {
      if (written[name] === undefined) continue
      const issues: never[] = []
      assert.deepEqual(KEYS[name].shape.read(written[name], name, issues), config[name])
      assert.deepEqual(issues, [])
    }
  })

  test('takes flags over the environment over the file over the defaults', async (t) => {
    const directory = folder(t, {
      'flytower.yaml':
        'listen:\n  host: ::1\n  port: 1\nlog.level: warn\nstock:\n  futureSkew: 1m\n',
    })
    const environment = {
      FLYTOWER_LISTEN_PORT: '2',
      FLYTOWER_LOG_LEVEL: 'error',
      FLYTOWER_STOCK_POT_UNLOAD_AFTER_INACTIVITY: '100ms',
    }
    const flags = [{ name: 'listen.port', value: '3', flag: '--port' }]
    const { config, places } = await loadConfig(sources({ directory, environment, flags }))
    assert.equal(config['listen.host'], '::1')
    assert.equal(config['listen.port'], 3)
    assert.equal(config['log.level'], 'error')
    assert.equal(config['stock.futureSkew'], 60_000)
    assert.equal(config['stockPot.unloadAfterInactivity'], 100)
    assert.equal(places.get('listen.host'), `${join(directory, 'flytower.yaml')}:2`)
    assert.equal(places.get('log.level'), 'the environment (FLYTOWER_LOG_LEVEL)')
    assert.equal(places.get('listen.port'), 'the flag --port')
    assert.equal(places.get('data.directory'), undefined)
  })

  test('is JSON as well, from the file that is asked for', async (t) => {
    const directory = folder(t, {
      'flytower.yaml': 'listen.port: 1',
      'other.json': JSON.stringify({
        auth: { tokens: [{ name: 'a', sha256: HASH, roles: ['viewer'] }] },
      }),
    })
    const file = join(directory, 'other.json')
    const { config } = await loadConfig(sources({ directory, file }))
    assert.deepEqual(config['auth.tokens'], [{ name: 'a', sha256: HASH, roles: ['viewer'] }])
    assert.equal(config['listen.port'], 8_470)
    const named = await loadConfig(sources({ directory, environment: { FLYTOWER_CONFIG: file } }))
    assert.deepEqual(named.config, config)
  })

  test('says everything that is wrong at once, each with its place', async (t) => {
    const text = [
      'listen: { port: 65536 }',
      'lisen.host: here',
      'data: 5',
      'auth:',
      '  tokens:',
      `    - { name: a, sha256: short, rolls: [viewer] }`,
      'stockPot:',
      '  unloadAfterInactivity: 5',
      '  unloadCheckIntervall: 30s',
      'listen.port: 1',
    ].join('\n')
    const directory = folder(t, { 'flytower.yaml': text })
    const file = join(directory, 'flytower.yaml')
    const environment = { FLYTOWER_LOG_LEVEL: 'loud', FLYTOWER_LISTEN_PROT: '1', OTHER: 'x' }
    const flags = [{ name: 'log.fromat', value: 'json', flag: '--set' }]
    const problems = await problemsOf(sources({ directory, environment, flags }))
    const said = problems.map(
      ({ place, key, problem }) => `${place.replace(file, 'FILE')} ${key} ${problem}`,
    )
    const expected = [
      /^the environment FLYTOWER_LISTEN_PROT .* did you mean FLYTOWER_LISTEN_PORT\?$/,
      /^FILE:1 listen.port it must be a whole number from 0 to 65535$/,
      /^FILE:2 lisen.host there is no setting of that name; did you mean listen.host\?$/,
      /^FILE:3 data there is no setting of that name; did you mean data.directory\?$/,
      /^FILE:5 auth.tokens\[0\].sha256 it must be /,
      /^FILE:5 auth.tokens\[0\].roles it is missing/,
      /^FILE:5 auth.tokens\[0\].rolls no such field; did you mean roles\?$/,
      /^FILE:8 stockPot.unloadAfterInactivity it must be a duration /,
      /^FILE:9 stockPot.unloadCheckIntervall .* did you mean stockPot.unloadCheckInterval\?$/,
      /^FILE:10 listen.port it is given twice, first at /,
      /^the environment \(FLYTOWER_LOG_LEVEL\) log.level it must be one of debug, info, warn, error$/,
      /^the flag --set log.fromat .* did you mean log.format\?$/,
    ]
    assert.equal(said.length, expected.length, said.join('\n'))
    for (const [n, pattern] of expected.entries()) assert.match(said[n]!, pattern)
  })

  test('refuses a file that is no YAML, is not there, is too large, or stands beside another', async (t) => {
    const directory = folder(t, {
      'a.yaml': 'a: [1\nb: 2',
      'fits.yaml': `# ${'x'.repeat(CONFIG_BYTES_MAX - 2)}`,
      'large.yaml': `# ${'x'.repeat(CONFIG_BYTES_MAX - 1)}`,
      'twice.yaml': 'log: {level: info}\nlog: {level: warn}',
    })
    assert.match(
      (await problemsOf(sources({ file: join(directory, 'a.yaml') })))[0]!.problem,
      /a\.yaml:\d/,
    )
    assert.match(
      (await problemsOf(sources({ file: join(directory, 'none') })))[0]!.problem,
      /ENOENT/,
    )
    assert.match(
      (await problemsOf(sources({ file: join(directory, 'twice.yaml') })))[0]!.problem,
      /unique/,
    )
    await loadConfig(sources({ file: join(directory, 'fits.yaml') }))
    const large = await problemsOf(sources({ file: join(directory, 'large.yaml') }))
    assert.match(large[0]!.problem, /is the most/)
    const two = folder(t, { 'flytower.yaml': '', 'flytower.json': '{}' })
    assert.match((await problemsOf(sources({ directory: two })))[0]!.problem, /keep one/)
  })

  test('refuses settings that need another', async () => {
    const environment = {
      FLYTOWER_STOCK_LOCATIONS_SOURCE: 'remote',
      FLYTOWER_AUTH_JWT_ISSUER: 'https://issuer.example',
      FLYTOWER_STOCK_LOCATIONS_ATTEMPTS: '6',
      FLYTOWER_SHUTDOWN_DRAIN: '9s',
    }
    const problems = await problemsOf(sources({ environment }))
    assert.deepEqual(
      problems.map(({ key }) => key),
      [
        'stock.locations.url',
        'auth.jwt.audience',
        'auth.jwt.keys',
        'stock.locations.failures',
        'shutdown.drain',
      ],
    )
  })

  test('lets the variables of a Kubernetes service of our name be', async () => {
    const environment = {
      FLYTOWER_SERVICE_HOST: '10.0.0.1',
      FLYTOWER_PORT: 'tcp://10.0.0.1:8470',
      FLYTOWER_PORT_8470_TCP: 'tcp://10.0.0.1:8470',
    }
    await loadConfig(sources({ environment }))
  })

  test('lets secrets of tests, and the passphrase of their file, be', async () => {
    const environment = {
      FLYTOWER_SECRETS_PASSPHRASE: 'a long passphrase',
      FLYTOWER_SECRET_SVC_ORDERS: '{"password":"pa55word"}',
    }
    await loadConfig(sources({ environment }))
  })

  test('is shown without secrets', async () => {
    const environment = {
      FLYTOWER_AUTH_TOKENS: JSON.stringify([{ name: 'a', sha256: HASH, roles: ['admin'] }]),
      FLYTOWER_STOCK_LOCATIONS_URL: 'https://user:canary@places.example/x',
    }
    const { config } = await loadConfig(sources({ environment }))
    const shown = JSON.stringify(writtenConfig(config))
    assert.doesNotMatch(shown, /canary|aaaa/)
    assert.match(shown, /"sha256":"\*\*\*"/)
    assert.match(shown, /https:\/\/\*\*\*@places\.example\/x/)
  })

  test('has a variable of its own for every setting', () => {
    const variables = KEY_NAMES.map(variableOf)
    assert.equal(new Set(variables).size, KEY_NAMES.length)
    assert.ok(variables.every((name) => /^FLYTOWER_[A-Z0-9_]+$/.test(name)))
  })
})

function readWith(of: ReturnType<typeof duration>, value: unknown): number | undefined {
  return of.read(value, '', [])
}

describe('units', () => {
  test('of time are ms, s, m and h, within the bounds', () => {
    const of = duration(100, 7_200_000)
    const good = { '100ms': 100, '30s': 30_000, '5m': 300_000, '2h': 7_200_000, '1.5s': 1_500 }
    for (const [text, ms] of Object.entries(good)) assert.equal(readWith(of, text), ms)
    for (const bad of ['99ms', '7200001ms', '5', 5, '', 's', '5d', '-5s', '1e3s', '0.1ms', null])
      assert.equal(readWith(of, bad), undefined, String(bad))
  })

  test('of size are B, KiB, MiB and GiB', () => {
    const of = size(1, 2 ** 31)
    for (const [text, bytes] of Object.entries({
      '1B': 1,
      '64KiB': 65_536,
      '1.5 MiB': 1_572_864,
      '2GiB': 2 ** 31,
    }))
      assert.equal(readWith(of, text), bytes)
    for (const bad of ['0B', '1KB', '3GiB', '12', 12]) assert.equal(readWith(of, bad), undefined)
  })

  test('are written in the largest unit that is exact', () => {
    for (const text of ['100ms', '30s', '5m', '2h', '90s']) {
      const ms = readWith(duration(0, 10_000_000), text)!
      assert.equal(readWith(duration(0, 10_000_000), durationText(ms)), ms)
    }
    assert.equal(durationText(90_000), '90s')
    assert.equal(durationText(0), '0ms')
    assert.equal(sizeText(1_048_576), '1MiB')
    assert.equal(sizeText(1_500), '1500B')
  })
})
