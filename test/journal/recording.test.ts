import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, test } from 'node:test'

import { random } from '../../src/std/index.ts'
import { RecordedDisk, type Deed, type Luck } from './recording.ts'

const place = mkdtempSync(join(tmpdir(), 'flytower-recording-'))
after(() => rmSync(place, { recursive: true }))

const base = mkdtempSync(join(place, 'base-'))
writeFileSync(join(base, 'old'), 'old')

function write(path: string, offset: number, text: string): Deed {
  return { type: 'write', path, offset, data: Buffer.from(text) }
}

/** The files there are after a cut, by name. */
function found(deeds: readonly Deed[], luck: Luck): Record<string, string> {
  const disk = new RecordedDisk(base)
  for (const deed of deeds) disk.do(deed)
  const image = join(place, 'image')
  disk.cut(image, luck)
  return Object.fromEntries(
    readdirSync(image).map((name) => [name, readFileSync(join(image, name), 'latin1')]),
  )
}

describe('a power cut', () => {
  test('takes what was written and not flushed', () => {
    assert.deepEqual(found([write('old', 3, 'er')], 'none'), { old: 'old' })
    assert.deepEqual(found([write('old', 3, 'er')], 'all'), { old: 'older' })
  })

  test('leaves what was flushed', () => {
    const deeds: Deed[] = [write('old', 3, 'er'), { type: 'sync', path: 'old', begun: 1 }]
    assert.deepEqual(found(deeds, 'none'), { old: 'older' })
  })

  test('takes what was written while a flush was under way', () => {
    const deeds: Deed[] = [
      write('old', 3, 'er'),
      write('old', 5, '!'),
      { type: 'sync', path: 'old', begun: 1 },
    ]
    assert.deepEqual(found(deeds, 'none'), { old: 'older' })
  })

  test('takes what a failed flush should have kept, whatever is flushed later', () => {
    const deeds: Deed[] = [
      write('old', 0, 'bold'),
      { type: 'failed-sync', path: 'old', begun: 1 },
      { type: 'sync', path: 'old', begun: 2 },
    ]
    assert.deepEqual(found(deeds, 'all'), { old: 'old' })
  })

  test('takes a file whose directory was not flushed, though the file was', () => {
    const made: Deed[] = [
      { type: 'create', path: 'new' },
      write('new', 0, 'new'),
      { type: 'sync', path: 'new', begun: 2 },
    ]
    assert.deepEqual(found(made, 'none'), { old: 'old' })
    const kept: Deed[] = [...made, { type: 'sync', path: '', begun: 3 }]
    assert.deepEqual(found(kept, 'none'), { old: 'old', new: 'new' })
  })

  test('brings back what was removed, renamed or cut short', () => {
    const deeds: Deed[] = [
      { type: 'truncate', path: 'old', length: 1 },
      { type: 'rename', path: 'old', to: 'older' },
      { type: 'unlink', path: 'older' },
    ]
    assert.deepEqual(found(deeds, 'none'), { old: 'old' })
    assert.deepEqual(found(deeds, 'all'), {})
    assert.deepEqual(found(deeds.slice(0, 2), 'names'), { older: 'old' })
    assert.deepEqual(found(deeds.slice(0, 2), 'all'), { older: 'o' })
  })

  test('leaves zeros where only what lies behind was kept', () => {
    const deeds: Deed[] = [write('old', 600, 'behind'), { type: 'sync', path: 'old', begun: 1 }]
    assert.equal(found(deeds, 'none')['old'], `old${'\0'.repeat(597)}behind`)
  })

  test('tears a write at its sectors and nowhere else, in many ways', () => {
    const ways = new Set<string>()
    for (let seed = 0; seed < 200; seed++) {
      const text = found([write('old', 500, 'x'.repeat(1_100))], random(seed))['old']!
      const sectors = [
        text.slice(500, 512),
        text.slice(512, 1_024),
        text.slice(1_024, 1_536),
        text.slice(1_536),
      ]
      for (const sector of sectors) assert.match(sector, /^(?:x*|\0*)$/)
      ways.add(sectors.map((sector) => sector.slice(0, 1)).join())
    }
    assert.ok(ways.size > 8, `${ways.size} ways`)
  })
})
