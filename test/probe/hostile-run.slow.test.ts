/**
 * Runs whose steps misuse what they share with the server: the channel, and the moment they are stopped
 * in. Each ends with a refusal of its own, and the server goes on.
 */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { RUN_UNREAD_BYTES_MAX } from '../../src/probe/runner/process-run.ts'
import { processesOf, ran, Scratch, settled, start, type Files } from './running.ts'

/** What steps do who write to the channel of their run themselves. */
const TELLING = `
  const fs = await import('node:fs')
  const tellText = (text) => {
    let left = Buffer.from(text + '\\n')
    while (left.length > 0) {
      try { left = left.subarray(fs.writeSync(3, left)) }
      catch (error) { if (error.code !== 'EAGAIN') throw error }
    }
  }
  const tell = (line) => tellText(JSON.stringify(line))
  void tell`

const FOR_EVER = 'await new Promise(() => setInterval(() => 0, 1_000))'

function doing(body: string): Files {
  return {
    'features/one.feature': 'Feature: one\n  Scenario: only\n    Given it happens\n',
    'steps/one.ts': `import { Given } from 'flytower/steps'
Given('it happens', { timeout: -1 }, async () => { ${body} })`,
  }
}

describe('a run that', () => {
  // Without `isDeeper` in channel.ts the stack of the server is over, and the server with it.
  test('tells of lists in lists without end is killed', async () => {
    using scratch = new Scratch()
    const deep = `'['.repeat(1e6) + ']'.repeat(1e6)`
    const { fault } = await ran(scratch, {
      files: doing(`${TELLING}
        tellText('{"type":"message","envelope":{"meta":' + ${deep} + '}}')
        ${FOR_EVER}`),
    })
    assert.equal(fault?.code, 'run-killed')
    assert.equal(fault.detail['reason'], 'channel')
  })

  // Without the end of `#tell` in process-run.ts the server keeps all of it.
  test('asks on and on and reads no answer is killed', { timeout: 60_000 }, async () => {
    using scratch = new Scratch()
    const { fault } = await ran(scratch, {
      files: doing(`${TELLING}
        for (let n = 0; n < 20; n += 1) tell({ type: 'call', id: String(n), name: 'x', input: {} })
        for (;;);`),
      services: { call: async () => 'x'.repeat(RUN_UNREAD_BYTES_MAX / 16) },
    })
    assert.equal(fault?.code, 'run-killed')
    assert.equal(fault.detail['reason'], 'channel')
  })

  test('asks for more than a line can hold is told so, and goes on', async () => {
    using scratch = new Scratch()
    const { result } = await ran(scratch, {
      files: doing(`
        const { ask } = await import('flytower/steps')
        const code = await ask('query', { topic: 'a' }).then(() => 'answered', (error) => error.code)
        if (code !== 'answer-too-large') throw new Error(code)
        if (await ask('cluster', { name: 'c' }) !== 'small') throw new Error('it is not answered')`),
      services: {
        call: async (name) => (name === 'query' ? 'x'.repeat(RUN_UNREAD_BYTES_MAX / 4) : 'small'),
      },
    })
    assert.equal(result?.errorMessage, undefined)
  })

  // Without `isLeft` in `#failure` of process-run.ts it passes, with evidence that is not whole.
  test('was to be killed has failed, even if it came to its end before', async () => {
    using scratch = new Scratch()
    const { result, fault } = await ran(scratch, {
      files: doing(`${TELLING}
        const over = { type: 'message', envelope: { testRunFinished: { success: true } } }
        tellText([{ type: 'nothing' }, over, { type: 'end' }].map((line) => JSON.stringify(line)).join('\\n'))
        ${FOR_EVER}`),
    })
    assert.equal(result, undefined)
    assert.equal(fault?.code, 'run-killed')
  })

  // Without the look at `#stop` before `spawn` in process-run.ts nobody ends it.
  test('is cancelled while its process is prepared never begins', { timeout: 60_000 }, async () => {
    using scratch = new Scratch()
    const told = start(scratch, {
      files: doing(`console.log('it ran'); ${FOR_EVER}`),
      job: { testId: `early-${process.pid}` },
      onLine: (line, { run }) => {
        if (line.includes('isolation')) queueMicrotask(() => void run.cancel(1_000))
      },
    })
    const { fault, lines } = await settled(told)
    assert.equal(fault?.code, 'run-killed')
    assert.ok(!lines.includes('it ran'))
    assert.deepEqual(processesOf(told.job.testId), [])
  })
})
