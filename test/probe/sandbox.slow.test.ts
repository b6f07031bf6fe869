/**
 * What a sandbox keeps from the steps in it. Where bubblewrap does not run these tests fail, because a
 * sandbox that was never built has kept nothing.
 */
import assert from 'node:assert/strict'
import { mkdirSync, writeFileSync } from 'node:fs'
import { createServer, type AddressInfo } from 'node:net'
import { join } from 'node:path'
import { describe, test } from 'node:test'

import { lineLog } from '../../src/std/index.ts'
import { processesOf, ran, Scratch, type Files, type Wanted } from './running.ts'

const SANDBOX = { isolation: 'sandbox' } as const

/** One scenario for each text of a step; the steps are told what is outside. */
function trying(
  steps: Readonly<Record<string, string>>,
  outside: Readonly<Record<string, string | number>> = {},
): Files {
  const scenarios = Object.keys(steps).map((text) => `  Scenario: ${text}\n    Given ${text}\n`)
  const definitions = Object.entries(steps).map(
    ([text, body]) => `Given(${JSON.stringify(text)}, { timeout: -1 }, async () => { ${body} })\n`,
  )
  return {
    'features/trying.feature': `Feature: trying\n${scenarios.join('')}`,
    'steps/trying.ts': `
import { spawn } from 'node:child_process'
import fs from 'node:fs'
import net from 'node:net'
import os from 'node:os'
import { Given } from 'flytower/steps'
const outside = ${JSON.stringify(outside)}
void [spawn, net, os, outside, refused, connected]
function refused(what: () => unknown, ...codes: string[]): void {
  try { what() } catch (error) {
    const { code } = error as { code: string }
    if (codes.includes(code)) return
    throw error
  }
  throw new Error('it was let')
}
async function connected(): Promise<string> {
  return new Promise((resolve) => {
    net.connect(outside.port, '127.0.0.1', () => resolve('connected'))
      .on('error', (error: { code: string }) => resolve(error.code))
  })
}
${definitions.join('')}`,
  }
}

const FENCED = {
  'it reads the data directory': `refused(() => fs.readFileSync(outside.data), 'ENOENT')`,
  'it reads the directories around its bundle': `
    refused(() => fs.readdirSync(outside.scratch), 'ENOENT')`,
  'it reads files of the machine': `
    refused(() => fs.readFileSync('/etc/passwd'), 'ENOENT')
    refused(() => fs.readdirSync('/root'), 'ENOENT')
    refused(() => fs.readdirSync('/home'), 'ENOENT')`,
  'it changes its bundle': `refused(() => fs.writeFileSync('features/trying.feature', ''), 'EROFS')`,
  'it writes into the root': `refused(() => fs.writeFileSync('/x', ''), 'EROFS')`,
  'it writes into shared memory': `refused(() => fs.writeFileSync('/dev/shm/x', ''), 'EROFS', 'ENOENT')`,
  'it sets what the kernel runs on a crash': `
    refused(() => fs.openSync('/proc/sys/kernel/core_pattern', 'r+'), 'EROFS', 'EACCES', 'ENOENT')`,
  'it fills the disk': `
    refused(() => { for (let n = 0; n < 5; n += 1) fs.writeFileSync('/tmp/' + n, Buffer.alloc(2 ** 26 + 2 ** 22)) },
      'ENOSPC')
    for (let n = 0; n < 5; n += 1) fs.rmSync('/tmp/' + n, { force: true })`,
  'it writes where it may': `fs.writeFileSync(os.tmpdir() + '/mine', 'x')`,
  'it opens a socket': `
    const code = await connected()
    if (code === 'connected') throw new Error('it was let')`,
  'it looks for other processes': `
    const names = fs.readdirSync('/proc').filter((name) => /^[0-9]+$/.test(name))
    if (names.length > 4 || fs.existsSync('/proc/' + outside.pid + '/cmdline') && outside.pid > 100)
      throw new Error(names.join())`,
  'it looks for capabilities': `
    const status = fs.readFileSync('/proc/self/status', 'utf8')
    if (!/^CapEff:\\t0+$/m.test(status) || !/^CapBnd:\\t0+$/m.test(status)) throw new Error(status)
    if (!/^NoNewPrivs:\\t1$/m.test(status)) throw new Error(status)`,
  'it looks at its variables': `
    const names = Object.keys(process.env).filter((name) => name === 'PROBE_SERVER_SECRET')
    if (names.length > 0 || JSON.stringify(process.env).includes(outside.scratch)) throw new Error('it leaks')`,
  'it starts a shell': `
    const code = await new Promise((resolve) => {
      spawn('/bin/sh', ['-c', 'exit 0']).on('error', (error: { code: string }) => resolve(error.code)).on('exit', resolve)
    })
    if (code !== 'ENOENT') throw new Error('it was let')`,
}

/** Those that only a sandbox keeps from doing it. */
const OPEN = ['it reads the data directory', 'it opens a socket', 'it changes its bundle']

test('each of these is refused in a sandbox, and what is allowed works', async () => {
  using scratch = new Scratch()
  await using server = await listening()
  process.env['PROBE_SERVER_SECRET'] = 'of the server'
  const wanted = fenced(scratch, server.port, FENCED)
  const { result, fault, lines } = await ran(scratch, { ...wanted, options: SANDBOX })
  delete process.env['PROBE_SERVER_SECRET']
  assert.equal(fault, undefined)
  assert.deepEqual(result?.failedScenarios, [])
  assert.equal(result.scenariosPassed, Object.keys(FENCED).length)
  assert.equal(lines[0], 'flytower: isolation: sandbox')
  assert.equal(server.connections(), 0)
})

test('it is the sandbox that refuses: in a process the same steps are let', async () => {
  using scratch = new Scratch()
  await using server = await listening()
  const steps = Object.fromEntries(Object.entries(FENCED).filter(([text]) => OPEN.includes(text)))
  const { result } = await ran(scratch, fenced(scratch, server.port, steps))
  assert.equal(result?.scenariosFailed, OPEN.length)
  assert.equal(server.connections(), 1)
})

test('a bundle that asks for the network has it', async () => {
  using scratch = new Scratch()
  await using server = await listening()
  const { result, fault } = await ran(scratch, {
    files: trying(
      {
        'it opens a socket': `
          const code = await connected()
          if (code !== 'connected') throw new Error(code)`,
      },
      { port: server.port },
    ),
    directive: { network: true },
    options: SANDBOX,
  })
  assert.equal(fault, undefined)
  assert.equal(result?.errorMessage, undefined)
})

test('a run that forks and a run that eats are killed, and one beside them does not notice', async () => {
  using scratch = new Scratch()
  const alone = { job: { testId: `greedy-${process.pid}` }, options: SANDBOX }
  const [forking, eating, outsideHeap, beside] = await Promise.all([
    ran(scratch, {
      ...alone,
      files: trying({
        'it forks 1 000 children': `
          for (let n = 0; n < 1_000; n += 1) {
            spawn(process.execPath, ['-e', 'setInterval(() => 0, 1e6)'], { stdio: 'ignore', detached: true })
              .on('error', () => undefined)
            await new Promise((resolve) => setTimeout(resolve, 1))
          }
          await new Promise(() => setInterval(() => 0, 1e6))`,
      }),
      options: { ...SANDBOX, limits: { processes: 20, memoryBytes: 2 ** 32 } },
    }),
    ran(scratch, {
      ...alone,
      files: trying({
        'it eats 4 GB': `
          const eaten = []
          for (let n = 0; n < 400; n += 1) {
            eaten.push(Buffer.alloc(10_000_000, n))
            await new Promise((resolve) => setTimeout(resolve, 1))
          }
          await new Promise(() => setInterval(() => eaten.length, 1e6))`,
      }),
      options: { ...SANDBOX, limits: { memoryBytes: 300_000_000 } },
    }),
    ran(scratch, {
      ...alone,
      files: trying({
        'it eats 4 GB at one go': `
          const eaten = []
          for (let n = 0; n < 40; n += 1) eaten.push(Buffer.alloc(100_000_000, n))`,
      }),
      options: { ...SANDBOX, limits: { memoryBytes: 200_000_000 } },
    }),
    ran(scratch, { ...alone, files: trying({ 'it does its work': '' }) }),
  ])
  assert.equal(forking.fault?.code, 'run-killed')
  assert.equal(forking.fault.detail['reason'], 'processes')
  assert.equal(eating.fault?.code, 'run-killed')
  assert.equal(eating.fault.detail['reason'], 'memory')
  // It cannot be weighed while it does that: the kernel refuses, or the runner kills it afterwards.
  assert.notEqual(outsideHeap.result?.passed, true)
  assert.equal(beside.result?.passed, true)
  assert.deepEqual(processesOf(alone.job.testId), [])
})

describe('where bubblewrap is missing', () => {
  const missing = { bubblewrap: '/nowhere/bwrap' }

  test('a sandbox that is asked for is refused, and nothing runs', async () => {
    using scratch = new Scratch()
    const { fault, lines } = await ran(scratch, {
      files: trying({ 'it runs': `console.log('it ran')` }),
      options: { ...SANDBOX, ...missing },
    })
    assert.equal(fault?.code, 'sandbox-unavailable')
    assert.match(String(fault.detail['remedy']), /install bubblewrap/)
    assert.ok(!lines.includes('it ran'))
  })

  test('auto goes on without, and says so', async () => {
    using scratch = new Scratch()
    const logged: string[] = []
    const { result, lines } = await ran(scratch, {
      files: trying({ 'it runs': '' }),
      options: { isolation: 'auto', log: lineLog((line) => logged.push(line)), ...missing },
    })
    assert.equal(result?.passed, true)
    assert.equal(lines[0], 'flytower: isolation: process')
    assert.match(logged.join(), /tests run without a sandbox/)
  })

  test('auto takes the sandbox where there is one', async () => {
    using scratch = new Scratch()
    const { result, lines } = await ran(scratch, {
      files: trying({ 'it runs': '' }),
      options: { isolation: 'auto' },
    })
    assert.equal(result?.passed, true)
    assert.equal(lines[0], 'flytower: isolation: sandbox')
  })
})

function fenced(scratch: Scratch, port: number, steps: Readonly<Record<string, string>>): Wanted {
  const data = join(scratch.path, 'data', 'journal.sqlite')
  mkdirSync(join(scratch.path, 'data'))
  writeFileSync(data, 'what the server keeps')
  return { files: trying(steps, { data, scratch: scratch.path, port, pid: process.pid }) }
}

async function listening(): Promise<
  AsyncDisposable & Readonly<{ port: number; connections: () => number }>
> {
  let connections = 0
  const server = createServer((socket) => {
    connections += 1
    socket.destroy()
  })
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve)
  })
  const { port } = server.address() as AddressInfo
  return {
    port,
    connections: () => connections,
    async [Symbol.asyncDispose]() {
      await new Promise((resolve) => {
        server.close(resolve)
      })
    },
  }
}
