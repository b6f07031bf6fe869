/**
 * Loading: five children make everything ready.
 *
 *   block storage: the bundle ── vault: credentials ── cucumber, producer, consumer
 *
 * Each kind counts once, however often it says that it is ready.
 */
import { stay, to, type Ref } from '../../kernel/index.ts'
import { faultOf, type ChildOptions } from '../children/child.ts'
import type { Fetched, Security } from '../children/ports.ts'
import {
  CHILD_KINDS,
  type BlockStorageMessage,
  type ChildKind,
  type CucumberMessage,
  type EventsMessage,
  type ExecutionMessage,
  type VaultMessage,
} from '../protocol.ts'
import { errorOf, type TestEvent } from '../record.ts'
import { accepted } from './answering.ts'
import {
  endedError,
  limited,
  recordOf,
  withoutChild,
  written,
  type Ctx,
  type Data,
  type ExecutionState,
  type Life,
  type Step,
} from './data.ts'
import { handling } from './handling.ts'
import { cancelled, extended, failed, timedOut } from './otherwise.ts'

export const loadingState: ExecutionState = {
  async enter(ctx, data) {
    const { life, arrival } = data
    const after = await written(life, ctx, data, eventsOf(life, data))
    const { start, priority } = recordOf(after)
    const limit = limited(life, ctx, after, 'Loading', life.house.settings.loadingMs)
    const loading = spawnAll(life, ctx, limit)
    childOf<BlockStorageMessage>(loading, 'block-storage')?.tell({
      type: 'initialize',
      bucket: start!.bucket,
    })
    if (arrival.type === 'start' || arrival.type === 'requeue')
      arrival.replyTo?.tell(accepted(life.testId, start!, arrival.standing))
    life.queue.tell({ type: 'test-loading', testId: life.testId, priority })
    return stay(loading)
  },
  on: handling('Loading', {
    'bundle-fetched': (_ctx, data, message) => fetched(data, message.fetched),
    'security-fetched': (_ctx, data, { security }) => secured(data, security),
    'child-ready': (_ctx, data, { kind }) => ready(data, kind),
    'child-failed': (_ctx, data, { kind, fault }) => failed(data, errorOf(kind, fault)),
    'child-ended': (_ctx, data, message) => lost(data, message),
    cancel: (_ctx, data, message) => cancelled(data, message),
    extend: (ctx, data, message) => extended(data.life, ctx, data, 'Loading', message),
    overdue: (_ctx, data, { state }) =>
      state === 'Loading' ? timedOut(data, 'Loading') : stay(data),
  }),
}

/** A child that a test cannot do without has ended. */
export function lost(
  data: Data,
  { kind, actor, ended }: Extract<ExecutionMessage, { type: 'child-ended' }>,
): Step {
  if (data.children.get(kind) !== actor) return stay(data)
  return failed(withoutChild(data, kind, actor), endedError(kind, ended))
}

export function childOf<M>(data: Data, kind: ChildKind): Ref<M> | undefined {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- each kind has one protocol
  return data.children.get(kind) as Ref<M> | undefined
}

/** Starts a child that is missing. */
export function spawnChild(life: Life, ctx: Ctx, data: Data, kind: ChildKind): Data {
  const { testId, house } = life
  const { factories, ports, settings } = house
  const options: ChildOptions = {
    testId,
    parent: ctx.self,
    ports,
    log: house.log.child({ testId, part: kind }),
    graceMs: settings.graceMs,
  }
  const behaviors = {
    'block-storage': () => ctx.spawn(`block-storage-${testId}`, factories.blockStorage(options)),
    vault: () => ctx.spawn(`vault-${testId}`, factories.vault(options)),
    cucumber: () => ctx.spawn(`cucumber-${testId}`, factories.cucumber(options)),
    producer: () => ctx.spawn(`producer-${testId}`, factories.producer(options)),
    consumer: () => ctx.spawn(`consumer-${testId}`, factories.consumer(options)),
  } satisfies Record<ChildKind, () => unknown>
  const actor: Ref<never> = behaviors[kind]()
  ctx.watch(actor, (ended) => ({ type: 'child-ended', kind, actor, ended }))
  return { ...data, children: new Map(data.children).set(kind, actor) }
}

function spawnAll(life: Life, ctx: Ctx, before: Data): Data {
  let data: Data = {
    ...before,
    mask: life.house.ports.newMask(),
    ready: new Set(),
    fetched: undefined,
    security: undefined,
    room: undefined,
    progress: undefined,
    ending: undefined,
    isStoring: false,
    tries: 0,
  }
  for (const kind of CHILD_KINDS) data = spawnChild(life, ctx, data, kind)
  return data
}

function eventsOf(life: Life, { arrival }: Data): readonly TestEvent[] {
  const at = life.house.register.now()
  if (arrival.type === 'start')
    return [{ type: 'started', at, options: arrival.options, place: arrival.place }]
  if (arrival.type !== 'requeue') return []
  const { why, place } = arrival
  const requeued: TestEvent = { type: 'requeued', at, why, place }
  return why === 'interrupted' ? [{ type: 'interrupted', at }, requeued] : [requeued]
}

function fetched(data: Data, what: Fetched): Step {
  const { bundle } = what
  if (data.mask !== undefined)
    childOf<VaultMessage>(data, 'vault')?.tell({ type: 'initialize', bundle, mask: data.mask })
  return stay({ ...data, fetched: what })
}

function secured(data: Data, security: Security): Step {
  const { life, mask } = data
  if (data.fetched === undefined || mask === undefined) return stay(data)
  const { bundle, evidence } = data.fetched
  const { start } = recordOf(data)
  try {
    const room = life.house.ports.openEvents({
      testId: life.testId,
      bundle,
      evidence,
      security,
      mask,
    })
    childOf<CucumberMessage>(data, 'cucumber')?.tell({
      type: 'initialize',
      fetched: data.fetched,
      tags: start?.tags,
      isDryRun: start?.isDryRun ?? false,
      mask,
    })
    for (const kind of ['producer', 'consumer'] as const)
      childOf<EventsMessage>(data, kind)?.tell({ type: 'initialize', room, security })
    return stay({ ...data, security, room })
  } catch (error) {
    return failed(data, errorOf('producer', faultOf(error)))
  }
}

function ready(data: Data, kind: ChildKind): Step {
  const after = { ...data, ready: new Set(data.ready).add(kind) }
  return after.ready.size === CHILD_KINDS.length ? to('Loaded', after) : stay(after)
}
