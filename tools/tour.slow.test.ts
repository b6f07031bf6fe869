import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { test } from 'node:test'
import { promisify } from 'node:util'

import { STOPS } from './tour.ts'

test('the tour goes through, and every example has something to say', async () => {
  const { stdout } = await promisify(execFile)(process.execPath, ['tools/tour.ts'])

  for (const [n, stop] of STOPS.entries()) {
    const [head, said = ''] = [
      `${n + 1}/${STOPS.length}  `,
      stdout.split(`(examples/${stop}.ts)`)[1],
    ]
    assert.ok(stdout.includes(head), `stop ${n + 1} was not reached`)
    assert.match(said, /^\n\n {5}[^·\s]/, `${stop} shows nothing`)
  }
})
