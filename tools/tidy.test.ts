/**
 * The source keeps to the architecture. Every rule is shown a violation first: a check that nothing
 * can fail proves nothing.
 */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, test } from 'node:test'

import { sourceTree, type Source } from './source.ts'
import * as tidy from './tidy.ts'

const { MAY_IMPORT, orphans, ...rules } = tidy

type RuleName = keyof typeof rules

type Case = Readonly<{ path: string; text: string; finding?: string }>

const tree = sourceTree()

/** Those with a finding are violations, those without are their nearest lawful neighbours. */
const CASES: Readonly<Record<RuleName, readonly Case[]>> = {
  layers: [
    {
      path: 'src/kernel/cell.ts',
      text: `import { stock } from '../stock/index.ts'`,
      finding: 'kernel may not import stock',
    },
    {
      path: 'src/broker/queue.ts',
      text: `import type { Pot } from '../stock/index.ts'`,
      finding: 'broker may not import stock',
    },
    {
      path: 'src/std/clock.ts',
      text: `export { Ref } from '../kernel/index.ts'`,
      finding: 'std may not import kernel',
    },
    {
      path: 'src/kernel/cell.ts',
      text: `const kit = await import('../testkit/index.ts')`,
      finding: 'kernel may not import testkit',
    },
    {
      path: 'src/kernel/internal/cell.ts',
      text: `import { x } from '../../../tools/x.ts'`,
      finding: 'src may not import tools/x.ts',
    },
    { path: 'src/attic/a.ts', text: `import '../std/index.ts'`, finding: 'no row for attic' },
    { path: 'src/kernel/cell.ts', text: `import { Heap } from '../std/index.ts'` },
    { path: 'src/kernel/cell.test.ts', text: `import { stage } from '../testkit/index.ts'` },
    { path: 'src/kernel/cell.test.ts', text: `import { pair } from '../../test/kernel/pair.ts'` },
    {
      path: 'src/kernel/cell.ts',
      text: `import { pair } from '../../test/kernel/pair.ts'`,
      finding: 'src may not import test/kernel/pair.ts',
    },
    { path: 'src/server/main.ts', text: `new URL('../../package.json', import.meta.url)` },
  ],
  folders: [
    { path: 'src/attic/a.ts', text: '', finding: 'in no folder of the layer table' },
    { path: 'src/a.ts', text: '', finding: 'in no folder of the layer table' },
    { path: 'src/journal/sqlite/a.ts', text: '' },
  ],
  doors: [
    {
      path: 'src/broker/queue.ts',
      text: `import { Cell } from '../kernel/internal/cell.ts'`,
      finding: 'reaches past src/kernel/index.ts',
    },
    {
      path: 'src/kernel/cell.ts',
      text: `import type { Heap } from '../std/heap.ts'`,
      finding: 'reaches past src/std/index.ts',
    },
    {
      path: 'examples/counter.ts',
      text: `import { receive } from '../src/kernel/behavior.ts'`,
      finding: 'reaches past src/kernel/index.ts',
    },
    {
      path: 'test/kernel/model.ts',
      text: `import { Heap } from '../../src/std/heap.ts'`,
      finding: 'reaches past src/std/index.ts',
    },
    { path: 'test/kernel/model.ts', text: `import '../../src/kernel/internal/cell.ts'` },
    { path: 'src/kernel/system.ts', text: `import { Cell } from './internal/cell.ts'` },
    { path: 'src/kernel/internal/cell.ts', text: `import { Heap } from '../../std/index.ts'` },
  ],
  namedExports: [
    { path: 'src/std/index.ts', text: `export * from './heap.ts'`, finding: 'by name' },
    { path: 'src/std/index.ts', text: `export * as heap from './heap.ts'`, finding: 'by name' },
    { path: 'src/std/index.ts', text: `export { Heap } from './heap.ts' // not export *` },
  ],
  packages: [
    { path: 'src/std/heap.ts', text: `import fc from 'fast-check'`, finding: 'not granted' },
    { path: 'src/testkit/stage.ts', text: `import { test } from 'vitest'`, finding: 'not granted' },
    {
      path: 'src/std/heap.ts',
      text: `import type { S } from '@standard-schema/spec'`,
      finding: 'not granted',
    },
    {
      path: 'src/kernel/schema.ts',
      text: `import { type S } from '@standard-schema/spec'`,
      finding: 'for types only',
    },
    { path: 'tools/x.ts', text: `import ts from 'typescript'`, finding: 'not granted' },
    { path: 'src/kernel/schema.ts', text: `import type { S } from '@standard-schema/spec'` },
    { path: 'src/std/heap.test.ts', text: `import fc from 'fast-check'` },
  ],
  reaches: [
    ...[
      'Date.now()',
      'new Date()',
      'performance.now()',
      'process.hrtime.bigint()',
      'globalThis.setTimeout(run, 1)',
      'setInterval(run, 1)',
      'setImmediate(run)',
      'process.nextTick(run)',
      'queueMicrotask(run)',
      'Math.random()',
      'crypto.getRandomValues(words)',
      'await fetch(url)',
      'const text = `${Date.now()}`',
    ].map((text) => ({ path: 'src/kernel/system.ts', text, finding: 'is not granted here' })),
    { path: 'src/std/heap.ts', text: 'setTimeout(run, 1)', finding: 'is not granted here' },
    { path: 'src/std/heap.ts', text: 'queueMicrotask(run)', finding: 'is not granted here' },
    { path: 'src/std/clock.ts', text: 'setTimeout(run, Date.now() - performance.now())' },
    { path: 'src/std/clock.ts', text: 'setImmediate(run); queueMicrotask(run)' },
    { path: 'src/kernel/system.ts', text: '// unlike Date.now() and setTimeout()' },
    { path: 'src/kernel/system.ts', text: `clock.now(); log('setTimeout'); cache.fetch(key)` },
  ],
  nodeModules: [
    ...[
      'node:fs',
      'node:fs/promises',
      'node:net',
      'node:http',
      'node:crypto',
      'node:timers/promises',
      'node:perf_hooks',
      'node:worker_threads',
    ].map((name) => ({
      path: 'src/kernel/system.ts',
      text: `import { x } from '${name}'`,
      finding: `${name} is not granted here`,
    })),
    { path: 'src/std/random.ts', text: `import { randomInt } from 'node:crypto'` },
    { path: 'src/server/main.ts', text: `import { readFile } from 'node:fs/promises'` },
    {
      path: 'src/kernel/internal/watchdog.ts',
      text: `import { Worker } from 'node:worker_threads'`,
    },
    {
      path: 'src/kernel/internal/watchdog-thread.ts',
      text: `import { Session } from 'node:inspector'`,
    },
    { path: 'src/kernel/system.ts', text: `import { inspect } from 'node:util'` },
    { path: 'src/kernel/system.test.ts', text: `import { spawn } from 'node:child_process'` },
  ],
  readyQueue: [
    {
      path: 'src/kernel/internal/ready-queue.ts',
      text: `import type { Token } from '../suspension.ts'`,
      finding: 'may not import src/kernel/suspension.ts',
    },
    {
      path: 'src/kernel/internal/ready-queue.ts',
      text: `import { all } from './condition.ts'`,
      finding: 'may not import src/kernel/internal/condition.ts',
    },
    {
      path: 'src/kernel/internal/ready-queue.ts',
      text: `if (cell.suspendReason === 'await') return`,
      finding: 'knows neither reasons nor conditions',
    },
    {
      path: 'src/kernel/internal/ready-queue.ts',
      text: `cell.resumeOn = undefined`,
      finding: 'knows neither reasons nor conditions',
    },
    { path: 'src/kernel/internal/cell.ts', text: `import { Reason } from '../suspension.ts'` },
    { path: 'src/kernel/internal/ready-queue.ts', text: '// knows no reason and no condition' },
  ],
  tellOnly: [
    {
      path: 'src/probe/queue.ts',
      text: `import { ask, type Ref } from '../kernel/index.ts'`,
      finding: 'tells, it does not ask',
    },
    {
      path: 'src/probe/children/vault.ts',
      text: `import {\n  type Ref,\n  ask as wait,\n} from '../../kernel/index.ts'`,
      finding: 'tells, it does not ask',
    },
    {
      path: 'src/probe/queue.ts',
      text: `import * as kernel from '../kernel/index.ts'`,
      finding: 'tells, it does not ask',
    },
    { path: 'src/probe/create-probe.ts', text: `import { ask } from '../kernel/index.ts'` },
    { path: 'src/probe/queue.test.ts', text: `import { ask } from '../kernel/index.ts'` },
    { path: 'src/probe/queue.ts', text: `import type { Ref } from '../kernel/index.ts'` },
    { path: 'src/probe/steps/producing.ts', text: `import { ask } from './asking.ts'` },
  ],
  testkit: [
    {
      path: 'src/server/main.ts',
      text: `import { world } from '../testkit/index.ts'`,
      finding: 'for tests and examples',
    },
    {
      path: 'tools/tour.ts',
      text: `import { world } from '../src/testkit/index.ts'`,
      finding: 'for tests and examples',
    },
    { path: 'src/kernel/ask.test.ts', text: `import { stage } from '../testkit/index.ts'` },
    { path: 'test/sim/night.ts', text: `import { world } from '../../src/testkit/index.ts'` },
    { path: 'examples/counter.ts', text: `import { stage } from '../src/testkit/index.ts'` },
    { path: 'src/testkit/stage.ts', text: `import { inbox } from './inbox.ts'` },
  ],
  sleepless: [
    ...[
      'await new Promise((resolve) => setTimeout(resolve, 100))',
      'await sleep(100)',
      'Atomics.wait(words, 0, 0, 100)',
      `import { setTimeout as pause } from 'node:timers/promises'`,
    ].map((text) => ({ path: 'src/kernel/ask.test.ts', text, finding: 'does not sleep' })),
    { path: 'src/kernel/ask.test.ts', text: `test('setTimeout( is a word')` },
  ],
  switchedOn: [
    ...[
      `test.only('a', run)`,
      `describe.skip('a', run)`,
      `it.todo('a')`,
      `test('a', { skip: true }, run)`,
      `test('a', { only: true }, run)`,
    ].map((text) => ({ path: 'src/kernel/ask.test.ts', text, finding: 'switched off' })),
    { path: 'src/kernel/ask.test.ts', text: `t.skip('bubblewrap is not installed')` },
  ],
  names: [
    { path: 'src/kernel/readyQueue.ts', text: '', finding: 'kebab-case' },
    { path: 'src/kernel/utils.ts', text: '', finding: 'a drawer' },
    { path: 'src/kernel/helpers/a.ts', text: '', finding: 'a drawer' },
    { path: 'src/kernel/internal/ready-queue.slow.test.ts', text: '' },
  ],
}

function entries(): string[] {
  const { scripts }: { scripts: Record<string, string> } = JSON.parse(
    readFileSync('package.json', 'utf8'),
  )
  const named =
    Object.values(scripts)
      .join(' ')
      .match(/\S+\.ts\b/g) ?? []
  return [...named, 'src/server/main.ts']
}

describe('tidy', () => {
  for (const name of Object.keys(CASES) as RuleName[]) {
    test(`${name}: every violation is caught, and nothing lawful`, () => {
      for (const { path, text, finding } of CASES[name]) {
        const found = rules[name]([{ path, text }])
        if (finding === undefined) assert.deepEqual(found, [], text)
        else {
          assert.equal(found.length, 1, `${path}: ${text}`)
          assert.ok(found[0]!.startsWith(path) && found[0]!.includes(finding), found[0])
        }
      }
    })

    test(`${name}: our source is clean`, () => {
      assert.deepEqual(rules[name](tree), [])
    })
  }

  test('readyQueue: a type of the suspension files is no word of the queue', () => {
    const files: Source[] = [
      { path: 'src/kernel/suspension.ts', text: 'export type Pause = 1\nexport class Later {}' },
      { path: 'src/kernel/internal/ready-queue.ts', text: 'let a: Pause\nlet b: Later\nlet c' },
    ]
    assert.deepEqual(
      rules.readyQueue(files).map((finding) => finding.split(':')[1]),
      ['1', '2'],
    )
  })

  test('orphans: a file that nobody imports is caught unless it is a door, an entry or a test', () => {
    const files: Source[] = [
      { path: 'src/std/index.ts', text: `export { Heap } from './heap.ts'` },
      { path: 'src/std/heap.ts', text: '' },
      { path: 'src/std/forgotten.ts', text: `import './forgotten.ts'` },
      { path: 'src/std/heap.test.ts', text: '' },
      { path: 'src/kernel/internal/watchdog.ts', text: `new URL('./thread.ts', import.meta.url)` },
      { path: 'src/kernel/internal/thread.ts', text: `import './watchdog.ts'` },
      { path: 'tools/tour.ts', text: '' },
      { path: 'tools/lost.ts', text: '' },
      { path: 'examples/counter.ts', text: '' },
    ]
    assert.deepEqual(orphans(files, ['tools/tour.ts']), [
      'src/std/forgotten.ts: is imported by nobody',
      'tools/lost.ts: is imported by nobody',
    ])
  })

  test('orphans: our source has none', () => {
    assert.deepEqual(orphans(tree, entries()), [])
  })

  test('the layer table has no way round', () => {
    const order = Object.keys(MAY_IMPORT)
    for (const [folder, below] of Object.entries(MAY_IMPORT))
      for (const other of below) assert.ok(order.indexOf(other) < order.indexOf(folder))
  })
})
