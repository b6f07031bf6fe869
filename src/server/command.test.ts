import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { answer } from './command.ts'

const versions = { product: '1.2.3', node: 'v24.12.0' }

describe('command', () => {
  test('tells its version', () => {
    assert.deepEqual(answer(['--version'], versions), { text: '1.2.3', exitCode: 0 })
    assert.deepEqual(answer(['-v'], versions), { text: '1.2.3', exitCode: 0 })
  })

  test('tells its usage when asked and when not told what to do', () => {
    for (const args of [['--help'], ['-h'], []]) {
      const { text, exitCode } = answer(args, versions)
      assert.match(text, /^Usage: /)
      assert.equal(exitCode, 0)
    }
  })

  test('names what it does not understand', () => {
    for (const args of [['serve'], ['--version', 'please']]) {
      const { text, exitCode } = answer(args, versions)
      assert.match(text, new RegExp(`^unknown arguments: ${args.join(' ')}`))
      assert.equal(exitCode, 2)
    }
  })

  test('an old Node is refused with what to do about it', () => {
    for (const node of ['v24.12.0', 'v24.13.1', 'v25.0.0'])
      assert.equal(answer(['--version'], { ...versions, node }).exitCode, 0)
    for (const node of ['v24.11.9', 'v20.20.2', 'v0.12.7']) {
      const { text, exitCode } = answer(['--version'], { ...versions, node })
      assert.match(text, /needs Node 24\.12 or newer, this is v/)
      assert.match(text, /npm ci/)
      assert.equal(exitCode, 1)
    }
  })
})
