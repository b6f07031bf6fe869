/** The five children, each alone with its ports: what it says when it is ready, fails or is stopped. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import type { Behavior } from '../../kernel/index.ts'
import { Accident, fault, lineLog } from '../../std/index.ts'
import { inbox, stage, type Inbox, type Stage } from '../../testkit/index.ts'
import { DIRECTIVE, Fakes, FILES, PASSED } from '../../../test/probe/fakes.ts'
import type {
  BlockStorageMessage,
  ChildNotice,
  CucumberMessage,
  EventsMessage,
  VaultMessage,
} from '../protocol.ts'
import { blockStorage } from './block-storage.ts'
import type { ChildOptions } from './child.ts'
import { consumer } from './consumer.ts'
import { cucumber } from './cucumber.ts'
import { producer } from './producer.ts'
import type { EventRoom } from './ports.ts'
import { vault } from './vault.ts'

const BUNDLE = { directory: '/b', directive: DIRECTIVE, features: ['features/a.feature'] }
const FETCHED = { bundle: BUNDLE, evidence: '/e' }
const SECURITY = { credentials: new Map(), secrets: new Map() }
const SECRET = 'hunter2-hunter2'
const DENIED = new Accident(fault('storage-denied', 'it is not for you', { remedy: 'ask' }))

class Rig<M> {
  readonly fakes: Fakes
  readonly parent: Inbox<ChildNotice> = inbox<ChildNotice>('parent')
  readonly lines: string[] = []
  readonly subject: Stage<M>

  constructor(make: (options: ChildOptions) => Behavior<M>, fakes: Fakes = new Fakes()) {
    this.fakes = fakes
    const options: ChildOptions = {
      testId: 't',
      parent: this.parent,
      ports: fakes.ports,
      log: lineLog((line) => this.lines.push(line), { level: 'debug' }),
      graceMs: 5_000,
    }
    this.subject = stage(make(options), { name: 'child' })
  }

  async tell(message: M): Promise<void> {
    this.subject.post(message)
    await this.subject.settle()
  }

  /** The types of what the parent was told since this was last asked. */
  said(): readonly string[] {
    const types: string[] = []
    while (this.parent.messages.length > 0) types.push(this.parent.take().type)
    return types
  }

  /** Stopped by whoever is above it, without a word. */
  async end(): Promise<void> {
    const handle: unknown = this.subject.ref
    if (typeof handle === 'object' && handle !== null && 'stop' in handle)
      if (typeof handle.stop === 'function') handle.stop()
    await this.subject.settle()
    assert.equal(this.subject.isStopped, true)
  }
}

function roomOf({ ports }: Fakes): EventRoom {
  return ports.openEvents({
    testId: 't',
    bundle: BUNDLE,
    evidence: '/e',
    security: SECURITY,
    mask: ports.newMask(),
  })
}

function vaultMessage({ fakes }: Rig<VaultMessage>): VaultMessage {
  return { type: 'initialize', bundle: BUNDLE, mask: fakes.ports.newMask() }
}

function work({ fakes }: Rig<CucumberMessage>): Extract<CucumberMessage, { type: 'initialize' }> {
  const mask = fakes.ports.newMask()
  return { type: 'initialize', fetched: FETCHED, tags: '@smoke', isDryRun: true, mask }
}

function run({ fakes }: Rig<CucumberMessage>): CucumberMessage {
  return { type: 'start-test', room: roomOf(fakes) }
}

function opening({ fakes }: Rig<EventsMessage>): EventsMessage {
  return { type: 'initialize', room: roomOf(fakes), security: SECURITY }
}

describe('the block storage of a test', () => {
  const INITIALIZE = { type: 'initialize', bucket: '/a' } as const
  const STORE = { type: 'store-evidence', bucket: '/a', room: undefined } as const

  test('fetches and checks the bundle, hands it over, and is ready', async () => {
    const at = new Rig(blockStorage)
    await at.tell(INITIALIZE)
    assert.deepEqual(at.said(), ['bundle-fetched', 'child-ready'])
    assert.deepEqual([...at.fakes.staged], ['t'])
  })

  test('is initialized once, however often it is told to be', async () => {
    const at = new Rig(blockStorage)
    await at.tell(INITIALIZE)
    await at.tell(INITIALIZE)
    assert.deepEqual(at.said(), ['bundle-fetched', 'child-ready'])
  })

  test('says what went wrong with the code of the storage', async () => {
    const at = new Rig(blockStorage)
    at.fakes.onFetch = async () => {
      throw DENIED
    }
    await at.tell(INITIALIZE)
    const notice = at.parent.take()
    assert.ok(notice.type === 'child-failed')
    assert.deepEqual([notice.kind, notice.fault.code], ['block-storage', 'storage-denied'])
  })

  test('refuses a bundle that does not hold together, by the fault that says where', async () => {
    const fakes = new Fakes()
    const bad = fault('bad-bundle', 'features/a.feature:3 is no Gherkin', { findings: [] })
    const at = new Rig<BlockStorageMessage>(
      (options) =>
        blockStorage({ ...options, ports: { ...options.ports, readBundle: async () => bad } }),
      fakes,
    )
    await at.tell(INITIALIZE)
    const notice = at.parent.take()
    assert.ok(notice.type === 'child-failed')
    assert.deepEqual(notice.fault, bad)
  })

  test('stores evidence and says what it has stored', async () => {
    const at = new Rig(blockStorage)
    await at.tell(INITIALIZE)
    at.said()
    await at.tell(STORE)
    at.parent.expect({ type: 'evidence-stored', files: FILES })
    assert.deepEqual(at.fakes.stored, ['/a/evidence/cucumber.json'])
  })

  test('has no evidence to store before it has fetched anything', async () => {
    const at = new Rig(blockStorage)
    await at.tell(STORE)
    const notice = at.parent.take()
    assert.ok(notice.type === 'evidence-failed')
    assert.equal(notice.fault.code, 'child-not-ready')
  })

  test('leaves no directory behind, whenever and however it is stopped', async () => {
    const fresh = new Rig(blockStorage)
    await fresh.tell({ type: 'stop' })
    assert.equal(fresh.subject.isStopped, true)

    const fetched = new Rig(blockStorage)
    await fetched.tell(INITIALIZE)
    await fetched.tell({ type: 'stop' })
    assert.deepEqual([...fetched.fakes.staged], [])

    const fetching = new Rig(blockStorage)
    const { promise, resolve } = Promise.withResolvers<void>()
    fetching.fakes.onFetch = () => promise
    await fetching.tell(INITIALIZE)
    assert.deepEqual([...fetching.fakes.staged], ['t'])
    await fetching.tell({ type: 'stop' })
    resolve()
    await fetching.subject.settle()
    assert.equal(fetching.subject.isStopped, true)
    assert.deepEqual([...fetching.fakes.staged], [])
  })

  test('keeps evidence that is still to be stored, unless it is told to stop', async () => {
    const at = new Rig(blockStorage)
    at.fakes.onStore = async () => {
      throw DENIED
    }
    await at.tell(INITIALIZE)
    await at.tell(STORE)
    await at.end()
    assert.deepEqual([...at.fakes.staged], ['t'])

    const next = new Rig(blockStorage, at.fakes)
    at.fakes.onStore = async () => undefined
    await next.tell(STORE)
    assert.deepEqual(next.said(), ['evidence-stored'])
    await next.tell({ type: 'stop' })
    assert.deepEqual([...at.fakes.staged], [])
  })
})

describe('the vault of a test', () => {
  test('hands over credentials once, and is ready', async () => {
    const at = new Rig(vault)
    await at.tell(vaultMessage(at))
    await at.tell(vaultMessage(at))
    assert.deepEqual(at.said(), ['security-fetched', 'child-ready'])
  })

  test('says what went wrong, and no secret is in what it says or logs', async () => {
    const at = new Rig(vault)
    at.fakes.onCredentials = async () => {
      throw new Accident(fault('secret-denied', 'the vault says no', { remedy: 'ask', x: SECRET }))
    }
    await at.tell(vaultMessage(at))
    assert.deepEqual(at.said(), ['child-failed'])
    assert.ok(at.lines.length > 0)
    assert.ok(!at.lines.some((line) => line.includes(SECRET)))
  })

  test('stops cleanly in the middle of it', async () => {
    const at = new Rig(vault)
    at.fakes.onCredentials = () => new Promise(() => undefined)
    await at.tell(vaultMessage(at))
    await at.tell({ type: 'stop' })
    assert.equal(at.subject.isStopped, true)
  })
})

describe('the cucumber of a test', () => {
  test('is ready once, and runs what it was told with the tags it was told', async () => {
    const at = new Rig(cucumber)
    await at.tell(work(at))
    await at.tell(work(at))
    assert.deepEqual(at.said(), ['child-ready'])
    await at.tell(run(at))
    await at.tell(run(at))
    assert.equal(at.fakes.runs.length, 1)
    const { job } = at.fakes.runOf('t')
    assert.deepEqual([job.tags, job.isDryRun, job.evidence], ['@smoke', true, '/e'])
  })

  test('cannot run before, nor a bundle without features', async () => {
    const at = new Rig(cucumber)
    await at.tell(run(at))
    const notice = at.parent.take()
    assert.ok(notice.type === 'child-failed')
    assert.equal(notice.fault.code, 'child-not-ready')
    const fetched = { bundle: { ...BUNDLE, features: [] }, evidence: '/e' }
    await at.tell({ ...work(at), fetched })
    assert.deepEqual(at.said(), ['child-failed'])
  })

  test('runs for as long as it takes, and tells progress and result', async () => {
    const at = new Rig(cucumber)
    await at.tell(work(at))
    await at.tell(run(at))
    at.subject.advance(86_400_000)
    at.said()
    const progress = { scenarios: 2, scenariosDone: 1, scenariosFailed: 0, step: undefined }
    at.fakes.runOf('t').hooks.onProgress(progress)
    at.fakes.runOf('t').finish()
    await at.subject.settle()
    at.parent.expect({ type: 'progress', progress })
    at.parent.expect({ type: 'test-complete', result: PASSED })
  })

  test('says what went wrong when the run cannot begin or ends early', async () => {
    const at = new Rig(cucumber)
    await at.tell(work(at))
    await at.tell(run(at))
    at.said()
    at.fakes.runOf('t').fail(new Accident(fault('run-ended-early', 'a step ended the process')))
    await at.subject.settle()
    const notice = at.parent.take()
    assert.ok(notice.type === 'child-failed')
    assert.equal(notice.fault.code, 'run-ended-early')

    at.fakes.onRun = () => {
      throw new Accident(fault('run-refused', 'no'))
    }
    await at.tell(run(at))
    assert.deepEqual(at.said(), ['child-failed'])
  })

  test('has ended when its process has, whoever ends it', async () => {
    for (const how of ['stop', 'end'] as const) {
      const at = new Rig(cucumber)
      await at.tell(work(at))
      await at.tell(run(at))
      if (how === 'stop') await at.tell({ type: 'stop' })
      else await at.end()
      const { isOver, graceMs } = at.fakes.runOf('t')
      assert.deepEqual([isOver, graceMs], [true, 5_000])
      assert.equal(at.subject.isStopped, true)
    }
  })
})

for (const [kind, behavior] of [
  ['producer', producer],
  ['consumer', consumer],
] as const)
  describe(`the ${kind} of a test`, () => {
    test('is ready once it is open, and begins a test by doing nothing', async () => {
      const at = new Rig(behavior)
      const { promise, resolve } = Promise.withResolvers<void>()
      at.fakes.onOpen = () => promise
      await at.tell(opening(at))
      await at.tell(opening(at))
      assert.deepEqual(at.said(), [])
      resolve()
      await at.subject.settle()
      assert.deepEqual(at.said(), ['child-ready'])
      await at.tell({ type: 'start-test' })
      assert.deepEqual(at.said(), [])
    })

    test('fails if it is to begin before it was initialized', async () => {
      const at = new Rig(behavior)
      await at.tell({ type: 'start-test' })
      assert.deepEqual(at.said(), ['child-failed'])
    })

    test('says what went wrong with the code of the broker', async () => {
      const at = new Rig(behavior)
      at.fakes.onOpen = async () => {
        throw new Accident(fault('topic-denied', 'no'))
      }
      await at.tell(opening(at))
      const notice = at.parent.take()
      assert.ok(notice.type === 'child-failed')
      assert.deepEqual([notice.kind, notice.fault.code], [kind, 'topic-denied'])
    })

    test('closes what it has opened, also what was only being opened', async () => {
      const open = new Rig(behavior)
      await open.tell(opening(open))
      assert.equal(open.fakes.sessions.size, 1)
      await open.tell({ type: 'stop' })
      assert.equal(open.fakes.sessions.size, 0)

      const late = new Rig(behavior)
      const { promise, resolve } = Promise.withResolvers<void>()
      late.fakes.onOpen = () => promise
      await late.tell(opening(late))
      await late.tell({ type: 'stop' })
      resolve()
      await late.subject.settle()
      assert.equal(late.subject.isStopped, true)
      assert.equal(late.fakes.sessions.size, 0)
    })
  })

describe('a consumer that is lost while the test runs', () => {
  test('is a failure of the test', async () => {
    const fakes = new Fakes()
    const at = new Rig<EventsMessage>(consumer, fakes)
    await at.tell(opening(at))
    at.said()
    fakes.onLost?.(new Accident(fault('events-unavailable', 'the broker is gone')))
    await at.subject.settle()
    assert.deepEqual(at.said(), ['child-failed'])
  })
})
