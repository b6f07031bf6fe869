/**
 * Ours, through the kernel's door, with everything on: bounds, supervision, metrics. The workloads
 * of `peers/actors/kit.mjs` written the way a user of the kernel would: a behavior takes the context
 * and the message, and ends by answering `stopped`. Same messages, same work, results checked.
 */
/* oxlint-disable no-await-in-loop -- A lane asks one question at a time. */
import { ask, createSystem, manual, receive } from '../../src/kernel/index.ts'

const BURST = { bound: 2 ** 20 }
const BURST_FROM = 1_001
const ASKING = { deadlineMs: 60_000 }
const BRANCHES = 10
const SETTLED = Promise.resolve()

const system = createSystem({ name: 'bench' })

const spawn = (handler, options) => system.spawnAnonymous(receive(handler), options)

function tellAll(n, handler) {
  const sink = spawn(handler, n < BURST_FROM ? undefined : BURST)
  for (let i = 0; i < n; i++) sink.tell({ type: 'm', v: i })
}

function tellFlood(n) {
  const { promise, resolve } = Promise.withResolvers()
  let left = n
  tellAll(n, () => {
    if (--left > 0) return undefined
    resolve()
    return 'stopped'
  })
  return promise
}

function tellAsync(n) {
  const { promise, resolve } = Promise.withResolvers()
  let left = n
  tellAll(n, async () => {
    await SETTLED
    if (--left > 0) return undefined
    resolve()
    return 'stopped'
  })
  return promise
}

async function pingPong(n) {
  const { promise, resolve } = Promise.withResolvers()
  let left = n
  const pong = spawn((_ctx, message) => {
    message.from.tell({ type: 'm', from: pong })
  })
  const ping = spawn((_ctx, message) => {
    if (--left === 0) resolve()
    else message.from.tell({ type: 'm', from: ping })
  })
  pong.tell({ type: 'm', from: ping })
  await promise
  ping.stop()
  pong.stop()
}

async function ring(n, laps) {
  const { promise, resolve } = Promise.withResolvers()
  const actors = new Array(n)
  for (let i = 0; i < n; i++) {
    const next = (i + 1) % n
    actors[i] = spawn((_ctx, message) => {
      if (message.left === 0) resolve()
      else actors[next].tell({ type: 'm', left: message.left - 1 })
    })
  }
  actors[0].tell({ type: 'm', left: n * laps })
  await promise
  for (const actor of actors) actor.stop()
}

async function asks(n, lanes) {
  const echo = spawn((_ctx, message) => {
    message.replyTo.tell(message.v + 1)
  })
  let next = 0
  let sum = 0
  const lane = async () => {
    while (next < n) {
      const v = next++
      const answer = await ask(echo, (replyTo) => ({ type: 'm', v, replyTo }), ASKING)
      sum += answer
    }
  }
  await Promise.all(Array.from({ length: lanes }, lane))
  if (sum !== (n * (n + 1)) / 2) throw new Error(`ask: wrong sum ${sum}`)
  echo.stop()
}

function spawnMany(n) {
  let left = 0
  let finish
  const counting = receive(() => {
    if (--left === 0) finish()
  })
  const refs = new Array(n)
  for (let i = 0; i < n; i++) refs[i] = system.spawnAnonymous(counting)
  return {
    refs,
    flood(each) {
      const { promise, resolve } = Promise.withResolvers()
      finish = resolve
      left = n * each
      for (let j = 0; j < each; j++) {
        for (let i = 0; i < n; i++) refs[i].tell({ type: 'm', v: j })
      }
      return promise
    },
    stop() {
      for (const ref of refs) ref.stop()
    },
  }
}

async function skynet(depth) {
  const { promise, resolve } = Promise.withResolvers()
  const size = BRANCHES ** depth
  const root = spawn((ctx, message) => {
    if (message.go) branch(ctx, ctx.self, 0, size)
    else resolve(message.v)
  })
  root.tell({ type: 'm', v: 0, go: true })
  const sum = await promise
  root.stop()
  if (sum !== (size * (size - 1)) / 2) throw new Error(`skynet: wrong sum ${sum}`)
}

/** A child of `parent` that adds up `size` numbers from `first`, by children of its own. */
function branch(parentCtx, parent, first, size) {
  let left = BRANCHES
  let sum = 0
  const child = parentCtx.spawnAnonymous(
    receive((ctx, message) => {
      if (!message.go) {
        sum += message.v
        if (--left > 0) return undefined
        parent.tell({ type: 'm', v: sum, go: false })
        return 'stopped'
      }
      if (size === 1) {
        parent.tell({ type: 'm', v: first, go: false })
        return 'stopped'
      }
      const share = size / BRANCHES
      for (let i = 0; i < BRANCHES; i++) branch(ctx, ctx.self, first + i * share, share)
      return undefined
    }),
  )
  child.tell({ type: 'm', v: 0, go: true })
}

/** A cycle has one message more than its name says: the one that tells the driver to go on. */
async function suspendCycles(n) {
  const { promise, resolve } = Promise.withResolvers()
  let left = n
  const rester = spawn((_ctx, message) => {
    if (--left === 0) resolve()
    else message.from.tell({ type: 'm', from: undefined })
  })
  const driver = spawn(() => {
    const token = rester.suspend('user', manual())
    rester.tell({ type: 'm', from: driver })
    token.resume()
  })
  driver.tell({ type: 'm', from: undefined })
  await promise
  driver.stop()
  rester.stop()
}

/** Microseconds from each resume, made in a turn of the event loop of its own, to the handler. */
async function resumeFirst(n) {
  const tookUs = new Float64Array(n)
  let handled = 0
  let resumedAt = 0
  const rester = spawn(() => {
    tookUs[handled++] = (performance.now() - resumedAt) * 1_000
  })
  for (let i = 0; i < n; i++) {
    const token = rester.suspend('user', manual())
    rester.tell({ type: 'm', v: i })
    await turn()
    if (handled !== i) throw new Error('a suspended actor ran')
    await new Promise((done) => {
      setImmediate(() => {
        resumedAt = performance.now()
        token.resume()
        done()
      })
    })
    await turn()
    if (handled !== i + 1) throw new Error('a resumed actor did not run')
  }
  rester.stop()
  return tookUs
}

/** Actors that rest with mail waiting; the answer wakes them all and sees the mail handled. */
async function park(count) {
  const { promise, resolve } = Promise.withResolvers()
  let left = count
  const counting = receive(() => {
    if (--left === 0) resolve()
    return 'stopped'
  })
  const tokens = new Array(count)
  for (let i = 0; i < count; i++) {
    const rester = system.spawnAnonymous(counting)
    tokens[i] = rester.suspend('user', manual())
    rester.tell({ type: 'm', v: i })
  }
  await turn()
  return async () => {
    if (left !== count) throw new Error('a suspended actor ran')
    for (const token of tokens) token.resume()
    await promise
  }
}

const turn = () => new Promise((wake) => setImmediate(wake))

export default {
  name: 'flytower',
  tellFlood,
  tellAsync,
  pingPong,
  ring,
  ask: asks,
  spawnMany,
  skynet,
  suspendCycles,
  resumeFirst,
  park,
}
