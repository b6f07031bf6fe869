import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { createMask } from '../secrets/mask.ts'
import { createLogLines, LOG_CHARACTERS_MAX, LOG_LINE_CHARACTERS_MAX } from './log-lines.ts'

function lines(...chunks: readonly (string | Buffer)[]): string[] {
  const told: string[] = []
  const mask = createMask()
  mask.add('hidden')
  const reader = createLogLines({
    masked: () => mask.stream(),
    onLine: (line) => told.push(line),
  }).reader()
  for (const chunk of chunks) reader.write(Buffer.from(chunk))
  reader.end()
  return told
}

describe('the lines of a log', () => {
  test('are cut at their ends, wherever chunks are', () => {
    assert.deepEqual(lines('a\nb', 'c\r\n', '\nlast'), ['a', 'bc', '', 'last'])
    assert.deepEqual(lines(), [])
  })

  test('have their characters whole', () => {
    const [first, second] = [Buffer.from('é').subarray(0, 1), Buffer.from('é').subarray(1)]
    assert.deepEqual(lines('caf', first, second, '\n'), ['café'])
  })

  test('are masked as a whole', () => {
    assert.deepEqual(lines('it is hid', 'den here\n'), ['it is [secret] here'])
    assert.deepEqual(lines('one hid\nden two hidden'), ['one hid', 'den two [secret]'])
  })

  test('are cut at the limit, and not one character before', () => {
    const whole = 'x'.repeat(LOG_LINE_CHARACTERS_MAX)
    assert.deepEqual(lines(`${whole}\n`), [whole])
    assert.deepEqual(lines(`${whole}y\nz\n`), [`${whole}… (cut)`, 'z'])
  })

  test('show no part of a secret where they are cut', () => {
    for (const over of [0, 3, 6]) {
      const before = 'x'.repeat(LOG_LINE_CHARACTERS_MAX - over)
      assert.doesNotMatch(lines(`${before}hidden${'y'.repeat(50_000)}\n`).join(), /hid/)
    }
    for (const size of [1, 7, 64, 4_096]) {
      const text = `x${'hidden'.repeat(LOG_LINE_CHARACTERS_MAX)}\n`
      const cut = Array.from({ length: Math.ceil(text.length / size) }, (_, n) =>
        text.slice(n * size, (n + 1) * size),
      )
      assert.doesNotMatch(lines(...cut).join(), /h|hid|dden/)
    }
  })

  test('end when the log is full, however much more there is', () => {
    const line = `${'x'.repeat(9_999)}\n`
    const many = LOG_CHARACTERS_MAX / line.length
    const full = '(the log is full; nothing more of it is kept)'
    assert.equal(lines(line.repeat(many - 1), 'x'.repeat(9_998), '\n').at(-1)?.length, 9_998)
    const told = lines(line.repeat(many), line, line)
    assert.equal(told.length, many + 1)
    assert.equal(told.at(-1), full)
  })
})
