/**
 * The program that the tests of the watchdog start; its first argument names the scene.
 *
 * Its stderr is a file. A handler that is to be named holds the thread until that file has grown, so
 * no test depends on how fast the machine is.
 */
import { execFileSync } from 'node:child_process'
import { fstatSync } from 'node:fs'
import inspector from 'node:inspector'
import { Worker } from 'node:worker_threads'

import type * as Kernel from '../../src/kernel/index.ts'
import type { Ref, SystemOptions } from '../../src/kernel/index.ts'
import { afterIo, silentLog, type LogFields } from '../../src/std/index.ts'

type Call = Readonly<{ replyTo: Ref<string> }>

const STDERR = 2
const HOLD_MS_MAX = 60_000

const [scene = '', argument = ''] = process.argv.slice(2)
const door = scene === 'built' ? argument : '../../src/kernel/index.ts'
const { ask, createSystem, machine, receive, setup, stay, to }: typeof Kernel = await import(door)

const reports: LogFields[] = []

const watched: SystemOptions = {
  watchdog: true,
  slowTurnMs: 100,
  log: { ...silentLog, warn: (message, fields) => void reports.push({ message, ...fields }) },
}

const scenes: Readonly<Record<string, () => Promise<void> | void>> = {
  async loop() {
    const system = createSystem({ ...watched, name: 'shop', slowTurnMs: 1_000 })
    const answers = await Promise.all([
      call(system.spawn('slow', worker(holdUntilNamed))),
      call(system.spawn('other', worker(doNothing))),
    ])
    show({ answers, slowTurns: system.metrics().slow_turns, reports })
    await system.stop()
  },

  'endless-loop'() {
    const system = createSystem(watched)
    system.spawn('endless', receive<'go'>(holdForEver)).tell('go')
  },

  async 'short-turns'() {
    const system = createSystem({ ...watched, slowTurnMs: 500 })
    const endAt = performance.now() + 3_000
    await new Promise<void>((resolve) => {
      const pong = system.spawn('pong', receive<number>(answer))
      const ping = system.spawn('ping', receive<number>(serve))
      ping.tell(1)

      function answer(_ctx: unknown, n: number): void {
        ping.tell(n + 1)
      }

      function serve(_ctx: unknown, n: number): void {
        if (n % 1_024 === 0 && performance.now() > endAt) resolve()
        else pong.tell(n)
      }
    })
    show({ slowTurns: system.metrics().slow_turns })
    await system.stop()
  },

  async 'turns-that-add-up'() {
    const system = createSystem({ ...watched, slowTurnMs: 500 })
    await runFast(system)
    const hold = system.spawn('hold', worker(holdShortly))
    await Promise.all(Array.from({ length: 40 }, () => call(hold)))
    show({ slowTurns: system.metrics().slow_turns })
    await system.stop()
  },

  async 'slow-turns-in-a-row'() {
    const system = createSystem(watched)
    await runFast(system)
    const slow = system.spawn('slow', worker(holdUntilNamed))
    await Promise.all([call(slow), call(slow), call(slow)])
    show({ slowTurns: system.metrics().slow_turns })
    await system.stop()
  },

  async 'left-running'() {
    await call(createSystem(watched).spawn('slow', worker(holdUntilNamed)))
    show(reports)
  },

  async 'kinds-of-turn'() {
    const system = createSystem(watched)
    const parent = receive<Call>((ctx, message) => {
      ctx.spawn('newborn', worker(holdUntilNamed)).tell(message)
    })
    const slowStart = setup<Call>(() => {
      holdUntilNamed()
      return worker(doNothing)
    })
    await call(system.spawn('plain', worker(holdUntilNamed)))
    await call(system.spawn('urgent', worker(holdUntilNamed), { priority: 'high' }))
    await call(system.spawn('parent', parent))
    await call(system.spawn('start', slowStart))
    await call(system.spawn('machine', slowEnter()))
    const unheard = system.trace(({ type, actor, facts }) => {
      if (type === 'slow-turn') reports.push({ message: 'traced', actor, ...facts })
    })
    await call(system.spawn('traced', worker(holdUntilNamed)))
    unheard()
    show(reports)
    await system.stop()
  },

  async 'outside-of-javascript'() {
    const system = createSystem(watched)
    await call(system.spawn('slow', worker(waitOutsideUntilNamed)))
    show(reports)
    await system.stop()
  },

  async 'after-an-await'() {
    const system = createSystem(watched)
    await call(system.spawn('slow', receive(holdAfterAwait)))
    show(reports)
    await system.stop()
  },

  async 'two-systems'() {
    const patient = createSystem({ ...watched, name: 'patient', slowTurnMs: 60_000 })
    const strict = createSystem({ ...watched, name: 'strict' })
    const unasked = createSystem({ ...watched, name: 'unasked', watchdog: false })
    await call(patient.spawn('slow', worker(holdForASecond)))
    await call(strict.spawn('slow', worker(holdUntilNamed)))
    await call(unasked.spawn('slow', worker(holdUntilNamed)))
    show([patient, strict, unasked].map((system) => system.metrics().slow_turns))
    await Promise.all([patient, strict, unasked].map((system) => system.stop()))
  },

  async 'at-a-breakpoint'() {
    inspector.open(0, '127.0.0.1')
    inspector.waitForDebugger()
    const system = createSystem(watched)
    await call(system.spawn('stopped', worker(stopAtBreakpoint)))
    show({ slowTurns: system.metrics().slow_turns })
    await system.stop()
  },

  'in-a-worker'() {
    void new Worker(import.meta.filename, { argv: ['one'] })
  },

  one: nameOne,
  built: nameOne,

  async many() {
    const system = createSystem({ ...watched, slowTurnMs: 20 })
    const slow = system.spawn('slow', worker(holdUntilNamed))
    const heaps: number[] = []
    for (let n = 0; n < Number(argument); n++) {
      await call(slow)
      reports.length = 0
      globalThis.gc?.()
      heaps.push(process.memoryUsage().heapUsed)
    }
    show({ slowTurns: system.metrics().slow_turns, heaps })
    await system.stop()
  },
}

const nobody: Ref<string> = { path: 'nobody', tell: () => undefined }

await scenes[scene]?.()

/** Many turns that take no time, so that the kernel looks up from its work only once in a while. */
async function runFast(system: Kernel.System): Promise<void> {
  const fast = system.spawn('fast', worker(doNothing))
  for (let round = 0; round < 2_000; round++) {
    for (let n = 0; n < 50; n++) fast.tell({ replyTo: nobody })
    await call(fast)
  }
}

async function nameOne(): Promise<void> {
  const system = createSystem(watched)
  await call(system.spawn('slow', worker(holdUntilNamed)))
  show(reports)
  await system.stop()
}

function worker(work: () => void): ReturnType<typeof receive<Call>> {
  return receive<Call>((_ctx, { replyTo }) => {
    work()
    replyTo.tell('done')
  })
}

function slowEnter(): ReturnType<typeof receive<Call>> {
  return machine<'out' | 'in', Ref<string>, Call>({
    initial: 'out',
    data: nobody,
    states: {
      out: { on: (_ctx, _data, { replyTo }) => to('in', replyTo) },
      in: {
        enter(_ctx, replyTo) {
          holdUntilNamed()
          replyTo.tell('done')
          return stay(replyTo)
        },
        on: (_ctx, data) => stay(data),
      },
    },
  })
}

function call(target: Ref<Call>): Promise<string> {
  return ask(target, (replyTo) => ({ replyTo }), { deadlineMs: HOLD_MS_MAX })
}

/** What a scene found goes to stdout. */
function show(found: unknown): void {
  process.stdout.write(`${JSON.stringify(found)}\n`)
}

async function holdAfterAwait(_ctx: unknown, { replyTo }: Call): Promise<void> {
  await new Promise<void>(afterIo)
  holdUntilNamed()
  replyTo.tell('done')
}

function doNothing(): void {}

function holdUntilNamed(): void {
  const { size } = fstatSync(STDERR)
  const endAt = performance.now() + HOLD_MS_MAX
  while (fstatSync(STDERR).size === size && performance.now() < endAt);
}

/** Another process runs meanwhile, and no JavaScript in this one. */
function waitOutsideUntilNamed(): void {
  const wait = `const { fstatSync } = require('node:fs')
    const { size } = fstatSync(2)
    while (fstatSync(2).size === size);`
  execFileSync(process.execPath, ['--eval', wait], { stdio: 'inherit', timeout: HOLD_MS_MAX })
}

function holdShortly(): void {
  holdFor(50)
}

function holdForASecond(): void {
  holdFor(1_000)
}

function holdFor(ms: number): void {
  const endAt = performance.now() + ms
  while (performance.now() < endAt);
}

function holdForEver(): void {
  for (;;);
}

function stopAtBreakpoint(): void {
  // oxlint-disable-next-line no-debugger
  debugger
}
