/**
 * Runs of real bundles by real processes. Several cases share a bundle where they can, because every
 * run costs the start of a process.
 */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { describe, test } from 'node:test'

import { verifyEvidence, sealEvidence } from '../../src/probe/evidence/seal.ts'
import { CHANNEL_LINE_BYTES_MAX } from '../../src/probe/runner/channel.ts'
import { LOG_CHARACTERS_MAX } from '../../src/probe/runner/log-lines.ts'
import { RUN_CALLS_MAX, RUN_ENDING_MS } from '../../src/probe/runner/process-run.ts'
import { createMask } from '../../src/probe/secrets/mask.ts'
import type { LiveMask } from '../../src/probe/secrets/secrets.ts'
import { until } from '../acceptance/until.ts'
import { processesOf, ran, Scratch, settled, start, type Told } from './running.ts'

const EVIDENCE = [
  'cucumber.json',
  'junit.xml',
  'messages.ndjson',
  'metadata.json',
  'report.html',
  'run.log',
]

const CANARY = 'canary-7f3a!"\\value'

const MIXED = {
  'features/mixed.feature': `
Feature: mixed
  Scenario: passes
    Given it passes
    And it passes in JavaScript
    And it passes as CommonJS
  Scenario: fails
    Given it fails
    And it passes
  Scenario: is not defined
    Given nobody knows this
  Scenario: is pending
    Given it is pending
  Scenario: is ambiguous
    Given it is ambiguous
  Scenario: is skipped
    Given it is skipped
  Scenario: throws beside the step
    Given it throws later
  @ignore
  Scenario: is ignored
    Given it fails
  Scenario Outline: one name for all
    Given the number <n>
    Examples:
      | n |
      | 1 |
      | 2 |
      | 3 |
  Scenario: fails at first
    Given it fails at first
  Scenario: tells a secret ${CANARY}
    Given it prints, attaches and throws "${CANARY.replace('"', '')}"
`,
  'steps/typed.ts': `
import { Given, type World } from 'flytower/steps'
type Numbered = Readonly<{ n: number }>
let tries = 0
const SECRET: string = ${JSON.stringify(CANARY)}
Given('it passes', () => { console.log('printed by a step') })
Given('it fails', () => { throw new Error('as it should') })
Given('it is pending', () => 'pending')
Given('it is skipped', () => 'skipped')
Given('it is ambiguous', () => undefined)
Given(/^it is ambiguous$/, () => undefined)
Given('it throws later', async () => {
  setTimeout(() => { throw new Error('beside the step') }, 1)
  await new Promise((resolve) => setTimeout(resolve, 200))
})
Given('the number {int}', (n: number) => {
  const numbered: Numbered = { n }
  if (numbered.n === 2) throw new Error('not two')
})
Given('it fails at first', () => { if (tries++ === 0) throw new Error('the first time') })
Given('it prints, attaches and throws {string}', function (this: World, _word: string) {
  console.log('secret', SECRET)
  console.error(JSON.stringify({ secret: SECRET }))
  this.attach(Buffer.from('bytes ' + SECRET), 'application/octet-stream')
  this.log('text ' + SECRET)
  throw new Error(SECRET)
})
`,
  'steps/plain.js': `
import { Given } from '@cucumber/cucumber'
Given('it passes in JavaScript', () => undefined)
`,
  'steps/common.cjs': `
const { Given } = require('@cucumber/cucumber')
Given('it passes as CommonJS', () => undefined)
`,
}

const ONE = 'Feature: one\n  Scenario: only\n    Given it happens\n'

/** A step that does as told. */
function doing(body: string): Record<string, string> {
  return {
    'features/one.feature': ONE,
    'steps/one.ts': `
import { spawn } from 'node:child_process'
import fs from 'node:fs'
import { Given, ask } from 'flytower/steps'
void [spawn, fs, ask]
Given('it happens', { timeout: -1 }, async () => { ${body} })`,
  }
}

function maskOf(...secrets: readonly string[]): LiveMask {
  const mask = createMask()
  for (const secret of secrets) mask.add(secret)
  return mask
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'))
  } catch {
    return false
  }
}

function evidenceOf({ job }: Told, name: string): string {
  return readFileSync(join(job.evidence, name), 'utf8')
}

describe('a run of everything at once', () => {
  let mixed: Promise<Told> | undefined
  const scratch = new Scratch()
  const once = (): Promise<Told> =>
    (mixed ??= ran(scratch, {
      files: MIXED,
      directive: { retries: 1 },
      mask: maskOf(CANARY, CANARY.replace('"', '')),
    }))
  process.on('exit', () => scratch[Symbol.dispose]())

  test('counts scenarios and steps by how they ended', async () => {
    const { result, fault } = await once()
    assert.equal(fault, undefined)
    const { failedScenarios, durationMillis, ...counts } = result!
    assert.ok(durationMillis > 0)
    assert.deepEqual(counts, {
      passed: false,
      scenarioCount: 12,
      scenariosPassed: 4,
      scenariosFailed: 6,
      scenariosSkipped: 2,
      stepCount: 15,
      stepsPassed: 6,
      stepsFailed: 4,
      stepsSkipped: 3,
      stepsUndefined: 2,
      errorMessage: '6 scenario(s) failed',
    })
    assert.equal(failedScenarios.length, 6)
    assert.match(failedScenarios[0]!.error, /^it fails: Error: as it should/)
    assert.equal(failedScenarios[0]!.location, 'features/mixed.feature:7')
    assert.match(
      failedScenarios[1]!.error,
      /^features\/.*:\d+: no step definition fits: nobody knows this$/,
    )
    assert.match(failedScenarios[2]!.error, /:\d+: several step definitions fit/)
    assert.match(failedScenarios[3]!.error, /beside the step/)
  })

  test('probe-C2: every row of an outline counts, and one that passes hides none that failed', async () => {
    // Keyed by anything but the id of the test case, as in `#endAttempt` of tally.ts, the rows are one.
    const { result } = await once()
    const rows = result!.failedScenarios.filter(({ name }) => name === 'one name for all')
    assert.deepEqual(
      rows.map(({ location }) => location),
      ['features/mixed.feature:28'],
    )
    const [feature]: [{ elements: { name: string; line: number }[] }] = JSON.parse(
      evidenceOf(await once(), 'cucumber.json'),
    )
    const lines = feature.elements.filter(({ name }) => name === 'one name for all')
    assert.deepEqual(
      lines.map(({ line }) => line),
      [27, 28, 29],
    )
  })

  test('tells its progress while it goes', async () => {
    const { progress } = await once()
    assert.ok(progress.some(({ step }) => step === 'it passes'))
    assert.deepEqual(progress.at(-1), {
      scenarios: 12,
      scenariosDone: 12,
      scenariosFailed: 6,
      step: undefined,
    })
  })

  test('says how it was isolated, and what steps print is its log', async () => {
    const told = await once()
    assert.equal(told.lines[0], 'flytower: isolation: process')
    assert.ok(told.lines.includes('printed by a step'))
    assert.equal(evidenceOf(told, 'run.log'), `${told.lines.join('\n')}\n`)
  })

  test('probe-C6: leaves every report, and they agree', async () => {
    // Without `writeReports` in process-run.ts there are only messages and a log.
    const told = await once()
    assert.deepEqual(readdirSync(told.job.evidence).toSorted(), EVIDENCE)
    assert.match(evidenceOf(told, 'report.html'), /<title>Cucumber<\/title>/)
    const junit = evidenceOf(told, 'junit.xml')
    assert.match(junit, /tests="12" failures="7" errors="0" skipped="1"/)
    const { run } = JSON.parse(evidenceOf(told, 'metadata.json'))
    assert.equal(run.testId, 'test-1')
    assert.deepEqual(run.result, told.result)
    assert.deepEqual(Object.keys(run.versions), ['node', 'cucumber', 'flytower'])
    assert.equal(run.bundle.files.length, 4)
    await sealEvidence(told.job.evidence)
    assert.deepEqual(await verifyEvidence(told.job.evidence), [])
  })

  test('no secret leaves it: not in the log, the progress, the result or the evidence', async () => {
    const told = await once()
    const forms = [CANARY, JSON.stringify(CANARY).slice(1, -1), CANARY.replace('"', '')]
    const texts = [
      JSON.stringify([told.lines, told.progress, told.result]),
      ...EVIDENCE.map((name) => evidenceOf(told, name)),
    ]
    for (const form of forms)
      for (const text of texts) {
        assert.ok(!text.includes(form), form)
        assert.ok(!text.includes(Buffer.from(form).toString('base64').slice(0, -4)), form)
      }
    const attached = evidenceOf(told, 'messages.ndjson')
      .split('\n')
      .filter((line) => line.includes('"attachment"') && line.includes('octet-stream'))
      .map((line) => JSON.parse(line).attachment.body)
    assert.deepEqual(
      attached.map((body) => Buffer.from(body, 'base64').toString()),
      ['bytes [secret]', 'bytes [secret]'], // it was tried twice
    )
  })
})

test('scenarios run side by side ask for things from where they are', async () => {
  using scratch = new Scratch()
  const asked: unknown[] = []
  const { result, fault } = await ran(scratch, {
    files: {
      'features/many.feature': `
Feature: many
  @wanted
  Scenario Outline: several
    Given it asks for <n>
    Examples:
      | n |
      | 1 |
      | 2 |
      | 3 |
  Scenario: not wanted
    Given it asks for 4
`,
      'steps/asking.ts': `
import { ask, Given, Refused } from 'flytower/steps'
Given('it asks for {int}', async (n: number) => {
  if (n === 3) {
    const error = await ask('cluster', { name: 'none' }).catch((reason: unknown) => reason)
    if (!(error instanceof Refused) || error.code !== 'failed') throw error
    return
  }
  const { roles } = await ask('topic', { topic: String(n) })
  if (roles[0] !== 'role of ' + n) throw new Error(roles[0])
})`,
    },
    directive: { parallel: 2, tags: 'not @wanted' },
    job: { tags: '@wanted' },
    services: {
      call: async (name, input) => {
        if (name === 'position') return { sequence: 0 }
        asked.push([name, input])
        if (name === 'cluster') throw new Error('there is none')
        return { roles: [`role of ${(input as { topic: string }).topic}`] }
      },
    },
  })
  assert.equal(fault, undefined)
  assert.equal(result?.errorMessage, undefined)
  assert.equal(result?.scenariosPassed, 3)
  assert.equal(asked.length, 3)
})

test('a dry run passes when every step is defined, and runs none', async () => {
  using scratch = new Scratch()
  const { result, lines } = await ran(scratch, {
    files: doing(`console.log('it ran')`),
    job: { isDryRun: true },
  })
  assert.equal(result?.passed, true)
  assert.equal(result?.scenariosSkipped, 1)
  assert.ok(!lines.includes('it ran'))
})

// Without `matched` in child.ts the report shows the step once more for each group that matched nothing.
test('a step in the report is shown once, also where a part of its expression is not there', async () => {
  using scratch = new Scratch()
  const told = await ran(scratch, {
    files: {
      'features/one.feature': ONE,
      'steps/one.ts': `
import { Given } from 'flytower/steps'
Given(/^it (never )?happens( twice)?$/, (_never, _twice) => undefined)`,
    },
  })
  assert.equal(told.result?.passed, true)
  const messages = evidenceOf(told, 'messages.ndjson')
  assert.match(messages, /"stepMatchArgumentsLists":\[\{"stepMatchArguments":\[\]\}\]/)
})

describe('probe-C3: what was not read or not run is never a pass', () => {
  // Without the checks at the beginning of `#failure` in process-run.ts each of these passes.
  test('a feature that cannot be parsed is named with its line', async () => {
    using scratch = new Scratch()
    const { fault } = await ran(scratch, {
      files: {
        ...doing(''),
        'features/broken.feature': 'Feature: a\n  Scenario: b\n    Given x\n    Oops\n',
      },
    })
    assert.equal(fault?.code, 'run-refused')
    const findings = fault.detail['findings'] as { file: string; line: number }[]
    assert.deepEqual(
      findings.map(({ file, line }) => ({ file, line })),
      [{ file: 'features/broken.feature', line: 4 }],
    )
  })

  test('a run without a scenario has not passed', async () => {
    using scratch = new Scratch()
    const told = await ran(scratch, { files: doing(''), job: { tags: '@nothing' } })
    assert.equal(told.result?.passed, false)
    assert.equal(told.result?.errorMessage, 'no scenario matches the tags @nothing')
    assert.match(evidenceOf(told, 'junit.xml'), /failures="1"/)
  })

  test('tags that are no expression are refused', async () => {
    using scratch = new Scratch()
    const { fault } = await ran(scratch, { files: doing(''), job: { tags: '@a @b (' } })
    assert.equal(fault?.code, 'run-refused')
  })

  test('step definitions that cannot be loaded are shown with their file', async () => {
    using scratch = new Scratch()
    const { fault, job } = await ran(scratch, {
      files: { 'features/one.feature': ONE, 'steps/bad.ts': `throw new Error('at load')` },
    })
    assert.equal(fault?.code, 'bad-steps')
    assert.match(fault.message, /cannot be loaded: steps\/bad\.ts:1: Error: at load$/)
    assert.match(String(fault.detail['error']), /at load[^]*steps\/bad\.ts/)
    assert.deepEqual(readdirSync(job.evidence).toSorted(), EVIDENCE)
  })

  test('a step that exits with success has ended the run early', async () => {
    using scratch = new Scratch()
    const told = await ran(scratch, { files: doing('process.exit(0)') })
    assert.equal(told.fault?.code, 'run-ended-early')
    assert.equal(told.fault.detail['exitCode'], 0)
    assert.match(evidenceOf(told, 'junit.xml'), /the process of the run ended before the run did/)
    const { run } = JSON.parse(evidenceOf(told, 'metadata.json'))
    assert.equal(run.error.code, 'run-ended-early')
    assert.equal(run.result, undefined)
  })

  test('a process that says it has ended but told nothing has not passed', async () => {
    using scratch = new Scratch()
    const { fault } = await ran(scratch, {
      files: doing(`fs.writeSync(3, '{"type":"end"}\\n'); process.exit(0)`),
    })
    assert.equal(fault?.code, 'run-ended-early')
  })

  test('a process that writes what is no message is killed', async () => {
    using scratch = new Scratch()
    const { fault } = await ran(scratch, {
      files: doing(
        `fs.writeSync(3, 'nonsense\\n'); await new Promise(() => setInterval(() => 0, 1e3))`,
      ),
    })
    assert.equal(fault?.code, 'run-killed')
    assert.equal(fault.detail['reason'], 'channel')
  })
})

test('steps may ask for so much at once and no more', async () => {
  using scratch = new Scratch()
  const held = Promise.withResolvers<null>()
  let asked = 0
  const { result } = await ran(scratch, {
    files: doing(`
      const calls = Array.from({ length: ${RUN_CALLS_MAX + 1} }, () =>
        ask('cluster', { name: 'c' }).then(() => 'answered', (error) => error.message))
      const first = await Promise.race(calls)
      if (first !== 'steps ask for too much at once') throw new Error(first)
      console.log('refused')
      const all = await Promise.all(calls)
      if (all.filter((each) => each === 'answered').length !== ${RUN_CALLS_MAX}) throw new Error(all.join())`),
    services: {
      call: async (name) => {
        if (name === 'position') return { sequence: 0 }
        asked += 1
        return held.promise
      },
    },
    onLine: (line) => {
      if (line === 'refused') held.resolve(null)
    },
  })
  assert.equal(result?.errorMessage, undefined)
  assert.equal(asked, RUN_CALLS_MAX)
})

test('a process that does not end after the run is ended, and the result stands', async () => {
  using scratch = new Scratch()
  const { result } = await ran(scratch, {
    files: doing(`process.on('exit', () => { for (;;); })`),
  })
  assert.equal(result?.passed, true)
  assert.ok(result.durationMillis >= RUN_ENDING_MS)
})

test('a run that attaches too much at once is killed', async () => {
  using scratch = new Scratch()
  const { fault } = await ran(scratch, {
    files: {
      'features/one.feature': ONE,
      'steps/one.ts': `
import { Given } from 'flytower/steps'
Given('it happens', async function () {
  this.attach('x'.repeat(${CHANNEL_LINE_BYTES_MAX}), 'text/plain')
  await new Promise(() => setInterval(() => 0, 1_000))
})`,
    },
  })
  assert.equal(fault?.code, 'run-killed')
  assert.equal(fault.detail['reason'], 'channel')
})

test('a run that prints 100 MB has a log that ends at its limit', async () => {
  using scratch = new Scratch()
  const { result, job } = await ran(scratch, {
    files: doing(`
      const line = 'x'.repeat(99) + '\\n'
      const block = line.repeat(10_000)
      for (let n = 0; n < 100; n += 1)
        await new Promise((resolve) => process.stdout.write(block, resolve))`),
  })
  assert.equal(result?.passed, true)
  const { size } = statSync(join(job.evidence, 'run.log'))
  assert.ok(size > LOG_CHARACTERS_MAX - 1_000 && size < LOG_CHARACTERS_MAX + 1_000, String(size))
})

describe('probe-C4: a run that does not end is ended, with all that it has started', () => {
  // Without `#kill` in process-run.ts, or without `endMarked`, some of these go on.
  for (const isolation of ['process', 'sandbox'] as const)
    test(`a step that loops and takes no signal, in a ${isolation}`, async () => {
      using scratch = new Scratch()
      const told = start(scratch, {
        files: doing(`
          process.on('SIGTERM', () => undefined)
          const program = 'setInterval(() => 0, 1_000)'
          const near = spawn(process.execPath, ['-e', program], { stdio: 'ignore' })
          const far = spawn(process.execPath, ['-e', program], { stdio: 'inherit', detached: true })
          console.log('pids', process.pid, near.pid, far.pid)
          setTimeout(() => { for (;;); }, 50)
          await new Promise(() => undefined)`),
        job: { testId: `looping-${isolation}-${process.pid}` },
        options: { isolation },
        onLine: (line, { run }) => {
          if (line.startsWith('pids')) void run.cancel(300)
        },
      })
      const { fault, lines } = await settled(told)
      assert.equal(fault?.code, 'run-killed')
      assert.equal(fault.detail['reason'], 'cancelled')
      assert.equal(lines.find((line) => line.startsWith('pids'))?.split(' ').length, 4)
      assert.deepEqual(processesOf(told.job.testId), [])
      assert.deepEqual(readdirSync(told.job.evidence).toSorted(), EVIDENCE)
      assert.match(evidenceOf(told, 'junit.xml'), /unknown: it happens/)
    })

  test('a step that waits for ever ends at once when it takes the signal', async () => {
    using scratch = new Scratch()
    const { fault } = await settled(
      start(scratch, {
        files: doing(
          `console.log('waiting'); await new Promise(() => setInterval(() => 0, 1_000))`,
        ),
        onLine: (line, { run }) => {
          if (line === 'waiting') void run.cancel(60_000)
        },
      }),
    )
    assert.equal(fault?.code, 'run-killed')
  })

  test('a run that passes leaves nobody behind either', async () => {
    using scratch = new Scratch()
    const { result, lines } = await ran(scratch, {
      files: doing(`
        const far = spawn(process.execPath, ['-e', 'setInterval(() => 0, 1_000)'],
          { stdio: 'inherit', detached: true })
        console.log('pid', far.pid)`),
    })
    assert.equal(result?.passed, true)
    const [, pid] = lines.find((line) => line.startsWith('pid '))!.split(' ')
    assert.equal(isAlive(Number(pid)), false)
  })

  test('whoever keeps the output of a run open does not keep the run', async () => {
    using scratch = new Scratch()
    const { result, lines } = await ran(scratch, {
      files: doing(`
        const unknown = spawn(process.execPath, ['-e', 'setInterval(() => 0, 1_000)'],
          { stdio: 'inherit', detached: true, env: {} })
        console.log('pid', unknown.pid)`),
    })
    const [, pid] = lines.find((line) => line.startsWith('pid '))!.split(' ')
    process.kill(Number(pid), 'SIGKILL') // without its mark nobody finds it: only a sandbox does
    assert.equal(result?.passed, true)
  })

  test('a run that loops ends with its runner', async () => {
    using scratch = new Scratch()
    const runner = spawn(
      process.execPath,
      [new URL('./lonely-runner.ts', import.meta.url).pathname, scratch.path],
      { stdio: ['ignore', 'pipe', 'inherit'] },
    )
    const lines = createInterface({ input: runner.stdout })
    let pid = 0
    for await (const line of lines)
      if (line.startsWith('pid ')) {
        pid = Number(line.split(' ')[1])
        break
      }
    assert.ok(isAlive(pid))
    runner.kill('SIGKILL')
    await until('the run is gone', 20_000, () => !isAlive(pid))
  })
})

test('probe-C5: the server knows nothing of what steps do to themselves', async () => {
  // Steps in the process of the server, as without `spawn` in process-run.ts, see its variables.
  using scratch = new Scratch()
  process.env['PROBE_SERVER_SECRET'] = 'of the server'
  const { result } = await ran(scratch, {
    files: doing(`
      if (process.pid === ${process.pid}) throw new Error('this is the server')
      if (process.env['PROBE_SERVER_SECRET'] !== undefined) throw new Error('it leaks')
      globalThis.fetch = undefined
      Object.freeze(Object.prototype)`),
  })
  delete process.env['PROBE_SERVER_SECRET']
  assert.equal(result?.errorMessage, undefined)
  assert.ok(typeof fetch === 'function' && !Object.isFrozen(Object.prototype))
  assert.ok(existsSync(scratch.path))
})
