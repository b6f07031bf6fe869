/** The orchestrator as the server has it: it is there without further ado, and every setting has an effect. */
import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'

import { directory, FEATURE } from '../../test/probe/bundles.ts'
import { scene, type Scene } from '../../test/probe/scene.ts'
import { vaultServer } from '../../test/probe/vault-server.ts'
import { composed } from '../../test/server/composed.ts'
import {
  configOf,
  passwordOf,
  portsOf,
  signal,
  type Values,
} from '../../test/server/probe-ports.ts'
import { memoryJournal } from '../journal/index.ts'
import { createSystem } from '../kernel/index.ts'
import { isFault, silentLog, systemClock } from '../std/index.ts'
import { KEY_NAMES } from './config-keys.ts'
import { portsOptions, probeFeature, settingsOf } from './probe-feature.ts'

async function sceneOf(values: Values): Promise<Scene> {
  return scene({ settings: settingsOf(await configOf(values)) })
}

async function finishedIn(at: Scene): Promise<string> {
  const testId = await at.running()
  at.fakes.runOf(testId).finish()
  await at.reaches(testId, 'Completed')
  return testId
}

const HOUR_MS = 3_600_000

/** What a setting does: a test for each, which fails without the line of `probe-feature.ts` that reads it. */
const EFFECTS: Readonly<Record<string, () => Promise<void>>> = {
  async 'probe.slots'() {
    await using at = await sceneOf({ 'probe.slots': '2' })
    await at.running()
    await at.running()
    const third = await at.started()
    await at.reaches(third, 'Loaded')
  },
  async 'probe.policy'() {
    for (const [policy, running] of [
      ['first-ready', 1],
      ['strict', 0],
    ] as const) {
      await using at = await sceneOf({ 'probe.policy': policy })
      const slow = Promise.withResolvers<void>()
      at.fakes.onFetch = (bucket) => (bucket === '/slow' ? slow.promise : Promise.resolve())
      await at.started('/slow')
      await at.started('/fast')
      await at.settle()
      assert.equal(at.fakes.running, running)
      slow.resolve()
    }
  },
  async 'probe.depth'() {
    await using at = await sceneOf({ 'probe.depth': '1' })
    await at.running()
    await at.started()
    const third = await at.initialize()
    const { accepted, reason } = await at.until(at.probe.start(third, { bucket: '/a' }))
    assert.deepEqual([accepted, reason], [false, 'queue-full'])
  },
  async 'probe.setupTime'() {
    await using at = await sceneOf({ 'probe.setupTime': '2s' })
    const testId = await at.initialize()
    await at.town.advance(1_999)
    assert.equal((await at.status(testId)).outcome, undefined)
    await at.town.advance(1)
    assert.equal((await at.status(testId)).outcome, 'timed-out')
  },
  async 'probe.loadingTime'() {
    await using at = await sceneOf({ 'probe.loadingTime': '2s' })
    const slow = Promise.withResolvers<void>()
    at.fakes.onFetch = () => slow.promise
    const testId = await at.started()
    await at.town.advance(1_999)
    assert.equal((await at.status(testId)).outcome, undefined)
    await at.town.advance(1)
    slow.resolve()
    await at.settle()
    assert.equal((await at.status(testId)).outcome, 'timed-out')
  },
  async 'probe.testingTime'() {
    await using at = await sceneOf({ 'probe.testingTime': '2s' })
    const testId = await at.running()
    await at.town.advance(1_999)
    assert.equal((await at.status(testId)).outcome, undefined)
    await at.town.advance(1)
    assert.equal((await at.status(testId)).outcome, 'timed-out')
  },
  async 'probe.keepTime'() {
    await using at = await sceneOf({ 'probe.keepTime': '2s' })
    await finishedIn(at)
    at.fakes.onFetch = () => Promise.reject(new Error('gone'))
    await at.reaches(await at.started(), 'Exception')
    assert.deepEqual([at.probe.metrics().completed, at.probe.metrics().exception], [1, 1])
    await at.town.advance(2_000)
    assert.deepEqual([at.probe.metrics().completed, at.probe.metrics().exception], [0, 0])
  },
  async 'probe.grace'() {
    await using at = await sceneOf({ 'probe.grace': '2s' })
    const testId = await at.running()
    await at.until(at.probe.cancel(testId))
    await at.settle()
    assert.equal(at.fakes.runOf(testId).graceMs, 2_000)
  },
  async 'probe.interrupted'() {
    for (const [policy, outcome] of [
      ['requeue', undefined],
      ['keep', 'interrupted'],
    ] as const) {
      await using at = await sceneOf({ 'probe.interrupted': policy })
      const testId = await at.running()
      await at.killAndBegin()
      await at.settle()
      assert.equal((await at.status(testId)).outcome, outcome)
    }
  },
  async 'probe.attempts'() {
    for (const [attempts, outcome] of [
      ['1', 'interrupted'],
      ['2', undefined],
    ] as const) {
      await using at = await sceneOf({ 'probe.attempts': attempts })
      const testId = await at.running()
      await at.killAndBegin()
      await at.settle()
      assert.equal((await at.status(testId)).outcome, outcome)
    }
  },
  async 'probe.retention'() {
    await using at = await sceneOf({ 'probe.retention': '90m' })
    const testId = await finishedIn(at)
    await at.town.advance(HOUR_MS)
    assert.equal((await at.status(testId)).outcome, 'passed')
    await at.town.advance(HOUR_MS)
    assert.equal((await at.refused(at.probe.status(testId))).code, 'no-such-test')
  },
  async 'probe.retentionTests'() {
    await using at = await sceneOf({ 'probe.retentionTests': '1' })
    const first = await finishedIn(at)
    await at.town.advance(1_000)
    const second = await finishedIn(at)
    await at.town.advance(HOUR_MS)
    assert.equal((await at.refused(at.probe.status(first))).code, 'no-such-test')
    assert.equal((await at.status(second)).outcome, 'passed')
  },
  async 'probe.bundleMax'() {
    await using at = await portsOf({ 'probe.bundleMax': '1MiB' })
    using fits = directory({ 'features/a.feature': FEATURE, data: 'x'.repeat(1_000_000) })
    using large = directory({ 'features/a.feature': FEATURE, data: 'x'.repeat(1_048_577) })
    assert.ok(!isFault(await at.ports.readBundle(fits.path)))
    const refused = await at.ports.readBundle(large.path)
    assert.ok(isFault(refused) && refused.code === 'bad-bundle')
    await using server = await composed({ 'probe.bundleMax': '1MiB' })
    const begun = await server.http.inject({ method: 'POST', url: '/api/v1/test/initialize' })
    const { 'test-id': testId } = begun.json() as Record<string, string>
    const { status } = await server.http.inject({
      method: 'PUT',
      url: `/api/v1/test/${testId}/bundle`,
      headers: { 'content-type': 'application/zip' },
      body: Buffer.alloc(1_048_577),
    })
    assert.equal(status, 413)
  },
  async 'probe.bundleRoots'() {
    using root = directory({ 'shop/features/a.feature': FEATURE })
    using elsewhere = directory({ 'features/a.feature': FEATURE })
    using target = directory()
    const fetched = async (roots: readonly string[], path: string): Promise<unknown> => {
      await using at = await portsOf({ 'probe.bundleRoots': JSON.stringify(roots) })
      const options = { limits: at.ports.bundleLimits, signal }
      return at.ports.storage.fetch(path, join(target.path), options).then(
        () => 'fetched',
        (error: { code?: unknown }) => error.code,
      )
    }
    assert.equal(await fetched([root.path], join(root.path, 'shop')), 'fetched')
    assert.equal(await fetched([root.path], elsewhere.path), 'bad-storage-path')
    assert.equal(await fetched([], elsewhere.path), 'bad-storage-path', 'nowhere unless it is said')
  },
  async 'probe.s3.pathStyle'() {
    const parts = { clock: systemClock, log: silentLog, environment: {} }
    // Buckets in the host need a name service; what the client does with the flag is its own to test.
    for (const [value, flag] of [
      ['true', true],
      ['false', false],
    ] as const)
      assert.equal(
        portsOptions({ ...parts, config: await configOf({ 'probe.s3.pathStyle': value }) }, '/').s3
          .forcePathStyle,
        flag,
      )
  },
  async 'probe.secrets.store'() {
    const environment = { FLYTOWER_SECRET_SVC: '{"password":"from the environment"}' }
    await using env = await portsOf({ 'probe.secrets.store': 'env' }, environment)
    assert.equal(await passwordOf(env), 'from the environment')
    await using file = await portsOf({ 'probe.secrets.store': 'file' }, environment)
    await assert.rejects(passwordOf(file))
  },
  async 'probe.vault.address'() {
    await using vault = await vaultServer()
    vault.state.secrets['svc'] = { password: 'from Vault' }
    const environment = { VAULT_TOKEN: vault.state.token }
    const values = { 'probe.secrets.store': 'vault', 'probe.vault.address': vault.address }
    await using at = await portsOf(values, environment)
    assert.equal(await passwordOf(at), 'from Vault')
  },
  async 'probe.vault.tokenFile'() {
    await using vault = await vaultServer()
    vault.state.secrets['svc'] = { password: 'from Vault' }
    using home = directory({ token: `${vault.state.token}\n` })
    await using at = await portsOf({
      'probe.secrets.store': 'vault',
      'probe.vault.address': vault.address,
      'probe.vault.tokenFile': join(home.path, 'token'),
    })
    assert.equal(await passwordOf(at), 'from Vault')
  },
  async 'probe.vault.mount'() {
    await using vault = await vaultServer()
    vault.state.mount = 'team/kv'
    vault.state.secrets['svc'] = { password: 'from a mount' }
    const values = { 'probe.secrets.store': 'vault', 'probe.vault.address': vault.address }
    const environment = { VAULT_TOKEN: vault.state.token }
    await using at = await portsOf({ ...values, 'probe.vault.mount': 'team/kv' }, environment)
    assert.equal(await passwordOf(at), 'from a mount')
  },
  async 'probe.vault.namespace'() {
    await using vault = await vaultServer()
    vault.state.namespace = 'team-a'
    vault.state.secrets['svc'] = { password: 'from a namespace' }
    const values = { 'probe.secrets.store': 'vault', 'probe.vault.address': vault.address }
    const environment = { VAULT_TOKEN: vault.state.token }
    await using at = await portsOf({ ...values, 'probe.vault.namespace': 'team-a' }, environment)
    assert.equal(await passwordOf(at), 'from a namespace')
  },
  async 'probe.kafka.registry'() {
    const config = await configOf({
      'probe.kafka.bootstrapServers': 'broker.test:9092',
      'probe.kafka.registry': 'http://registry.test:8081',
    })
    const parts = { config, clock: systemClock, log: silentLog, environment: {} }
    assert.deepEqual(portsOptions(parts, '/').kafka, {
      bootstrapServers: 'broker.test:9092',
      registry: { url: 'http://registry.test:8081' },
    })
  },
}

/** Settings whose effect takes longer to show: `probe-feature.slow.test.ts`, and in runs `commands/run.slow.test.ts`. */
const ELSEWHERE = [
  'probe.s3.endpoint',
  'probe.s3.region',
  'probe.secrets.file',
  'probe.secrets.passphraseFile',
  'probe.kafka.bootstrapServers',
  'probe.isolation',
  'probe.memoryMax',
  'probe.processesMax',
  'probe.httpAllow',
]

describe('the settings of the orchestrator', () => {
  test('probe-O9: are all shown to have an effect', () => {
    const known = KEY_NAMES.filter((name) => name.startsWith('probe.'))
    assert.deepEqual([...Object.keys(EFFECTS), ...ELSEWHERE].toSorted(), known.toSorted())
  })

  for (const [name, shown] of Object.entries(EFFECTS))
    test(`probe-O9: ${name} has the effect that is said of it`, shown)
})

describe('the orchestrator of a server', () => {
  // Without `tests` among the features of `compose` nothing is there.
  test('probe-O8: is there with nothing but the defaults', async () => {
    await using server = await composed()
    const health = await server.http.inject({ url: '/api/v1/health' })
    assert.equal(health.status, 200)
    const begun = await server.http.inject({ method: 'POST', url: '/api/v1/test/initialize' })
    assert.equal(begun.status, 201)
  })

  test('leaves no directory behind where it cannot begin', async () => {
    const before = process.env['TMPDIR']
    using temporary = directory()
    process.env['TMPDIR'] = temporary.path
    try {
      const [config, journal] = await Promise.all([
        configOf({ 'data.directory': 'memory' }),
        memoryJournal({ clock: systemClock }),
      ])
      const system = createSystem({ name: 'test', clock: systemClock, log: silentLog })
      const parts = { config, system, clock: systemClock, log: silentLog, environment: {} }
      const unread = new Proxy(journal, {
        get: (of, name) =>
          name === 'takeFence' ? () => Promise.reject(new Error('no')) : Reflect.get(of, name),
      })
      await assert.rejects(probeFeature({ ...parts, journal: unread }), /no/)
      assert.deepEqual(readdirSync(temporary.path), [])
      await system.stop()
      await journal.close()
    } finally {
      if (before === undefined) delete process.env['TMPDIR']
      else process.env['TMPDIR'] = before
    }
  })

  test('has figures with names that a collector takes', async () => {
    await using server = await composed()
    const { text } = await server.http.inject({ url: '/metrics' })
    const names = [...text.matchAll(/^# TYPE (\S+)/gm)].map(([, name = '']) => name)
    assert.ok(names.includes('flytower_probe_outcomes_timed_out_total'))
    assert.deepEqual(
      names.filter((name) => !/^[a-z_:][a-z0-9_:]*$/i.test(name)),
      [],
    )
  })
})
