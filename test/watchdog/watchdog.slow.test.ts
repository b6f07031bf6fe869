import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { describe, test } from 'node:test'
import { promisify } from 'node:util'

import { debugUntilPaused } from './debugger.ts'
import { PROGRAM, run, runWith } from './run.ts'

const HERE = /^holdUntilNamed \(file:\/\/.*\/test\/watchdog\/program\.ts:\d+:\d+\)$/

describe('the watchdog', () => {
  test('names a loop by actor, function and line while it goes on', async () => {
    const { exitCode, found, lines } = await run('loop')

    assert.equal(exitCode, 0)
    assert.equal(lines.length, 1)
    const { at, heldMs, where, ...rest } = lines[0]!
    assert.deepEqual(rest, {
      level: 'warn',
      message: 'a turn holds the thread',
      system: 'shop',
      actor: '/slow',
    })
    assert.match(String(where), HERE)
    assert.ok(Number(heldMs) >= 1_000 && Number(at) > 0)
    const { answers, slowTurns, reports } = found as LoopFound
    assert.deepEqual(answers, ['done', 'done'])
    assert.equal(slowTurns, 1)
    assert.deepEqual(reports.map(who), [['a turn takes long', '/slow']])
    assert.ok(Number(reports[0]!['ms']) >= Number(heldMs))
  })

  test('names a loop that never ends', async () => {
    const child = spawn(process.execPath, [PROGRAM, 'endless-loop'], {
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    const [line] = await once(createInterface(child.stderr), 'line')
    child.kill('SIGKILL')
    await once(child, 'exit')

    const { actor, where } = JSON.parse(line)
    assert.equal(actor, '/endless')
    assert.match(where, /^holdForEver \(/)
  })

  test('is silent about a busy thread whose turns are short', async () => {
    const { exitCode, found, lines } = await run('short-turns')

    assert.deepEqual([exitCode, found, lines], [0, { slowTurns: 0 }, []])
  })

  test('is silent about turns that are long only together', async () => {
    const { exitCode, found, lines } = await run('turns-that-add-up')

    assert.deepEqual([exitCode, found, lines], [0, { slowTurns: 0 }, []])
  })

  test('names each of many that the heartbeat does not tell apart', async () => {
    const { exitCode, found, lines } = await run('slow-turns-in-a-row')

    assert.deepEqual([exitCode, found, lines.length], [0, { slowTurns: 3 }, 3])
  })

  test('does not keep a process from ending whose system nobody stops', async () => {
    const { exitCode, lines } = await run('left-running')

    assert.deepEqual([exitCode, lines.map(who)], [0, [['a turn holds the thread', '/slow']]])
  })

  test('knows the actor in every kind of turn', async () => {
    const { exitCode, found, lines } = await run('kinds-of-turn')

    const actors = ['/plain', '/urgent', '/parent/newborn', '/start', '/machine', '/traced']
    assert.equal(exitCode, 0)
    assert.deepEqual(
      lines.map(({ actor }) => actor),
      actors,
    )
    assert.deepEqual((found as Report[]).map(who), [
      ...actors.map((actor) => ['a turn takes long', actor]),
      ['traced', '/traced'],
    ])
    for (const { where } of [...lines, ...(found as Report[])]) assert.match(String(where), HERE)
  })

  test('says that it does not know while a turn is outside of JavaScript, and names it then', async () => {
    const { exitCode, found, lines } = await run('outside-of-javascript')

    assert.equal(exitCode, 0)
    assert.equal(lines[0]!['message'], 'the thread is held, and does not say by what')
    assert.deepEqual((found as Report[]).map(who), [['a turn takes long', '/slow']])
    assert.match(String((found as Report[])[0]!['where']), /^waitOutsideUntilNamed \(/)
  })

  test('names the place, not the actor, after an await', async () => {
    const { exitCode, found, lines } = await run('after-an-await')

    assert.equal(exitCode, 0)
    assert.deepEqual(lines.map(who), [['something outside of a turn holds the thread', undefined]])
    assert.match(String(lines[0]!['where']), HERE)
    assert.deepEqual((found as Report[]).map(who), [['the thread was held', undefined]])
  })

  test('measures each system by its own limit, and one that did not ask by the smallest', async () => {
    const { exitCode, found, lines } = await run('two-systems')

    assert.deepEqual([exitCode, found], [0, [0, 1, 1]])
    assert.deepEqual(
      lines.map(({ system }) => system),
      ['strict', 'unasked'],
    )
  })

  test('is silent about a thread that a debugger has stopped, and leaves it stopped', async () => {
    const { found, said, stillPaused } = await debugUntilPaused('at-a-breakpoint', 500)

    assert.ok(stillPaused)
    assert.deepEqual(found, { slowTurns: 0 })
    assert.doesNotMatch(said, /thread/)
  })

  test('says that a system in a worker is held, and cannot ask by what', async () => {
    const { exitCode, found, lines } = await run('in-a-worker')

    assert.deepEqual([exitCode, found], [0, []])
    assert.deepEqual(lines.map(who), [['the thread is held, and does not say by what', undefined]])
  })

  test('does not ask where the process is not permitted to inspect itself', async () => {
    const flags = ['--permission', '--allow-fs-read=*', '--allow-worker', '--no-warnings']
    const { exitCode, found, lines } = await runWith(flags, ['one'])

    assert.deepEqual([exitCode, found], [0, []])
    assert.deepEqual(lines.map(who), [['the thread is held, and does not say by what', undefined]])
  })

  test('is found by the built kernel too', async () => {
    const dist = mkdtempSync(join(tmpdir(), 'watchdog-dist-'))
    const tsc = join('node_modules', '.bin', 'tsc')
    await promisify(execFile)(tsc, ['--project', 'tsconfig.build.json', '--outDir', dist])
    const { exitCode, lines } = await run('built', join(dist, 'kernel', 'index.js'))
    rmSync(dist, { recursive: true })

    assert.equal(exitCode, 0)
    assert.deepEqual(lines.map(who), [['a turn holds the thread', '/slow']])
  })
})

type Report = Readonly<Record<string, unknown>>
type LoopFound = Readonly<{ answers: string[]; slowTurns: number; reports: Report[] }>

function who({ message, actor }: Report): readonly unknown[] {
  return [message, actor]
}
