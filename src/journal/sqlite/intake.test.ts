import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test, type TestContext } from 'node:test'
import { FrameWriter } from './frame.ts'
import { Intake, readIntake, removeIntake, sealGroup, sealIntake } from './intake.ts'

const SALT = '00112233445566ff'
const FILE_BYTES = 8_192

function directoryFor(t: TestContext): string {
  const directory = mkdtempSync(join(tmpdir(), 'intake-'))
  t.after(() => rmSync(directory, { recursive: true }))
  return directory
}

function opened(t: TestContext, directory: string, token = 1): Intake {
  const intake = new Intake(directory, token, SALT, FILE_BYTES)
  t.after(() => intake.close())
  return intake
}

function group(intake: Intake, number: number, valueBytes = 10): Buffer {
  const writer = new FrameWriter()
  const records = [{ collection: 'c', key: `${number}`, value: 'x'.repeat(valueBytes) }]
  writer.batch({ records }, valueBytes + 20)
  const bytes = Buffer.from(writer.cut())
  sealGroup(bytes, intake.salt, { number, at: 100 + number, position: 0, count: 1 })
  return bytes
}

function add(intake: Intake, number: number, valueBytes?: number): Buffer {
  const bytes = group(intake, number, valueBytes)
  if (!intake.hasRoom(bytes.length)) intake.turn()
  intake.write(bytes)
  intake.flush(number, bytes.length)
  return bytes
}

/** Changes one byte of the only place in the directory where `bytes` stand. */
function damage(directory: string, bytes: Buffer, offset: number): void {
  for (const name of readdirSync(directory)) {
    const path = join(directory, name)
    const content = readFileSync(path)
    const at = content.indexOf(bytes)
    if (at === -1) continue
    content[at + offset]! ^= 1
    writeFileSync(path, content)
    return
  }
  assert.fail('these bytes are not there')
}

function numbers(groups: readonly { number: number }[]): number[] {
  return groups.map(({ number }) => number)
}

describe('the intake', () => {
  test('gives back what is behind the tables', (t) => {
    const directory = directoryFor(t)
    const intake = opened(t, directory)
    const bytes = [1, 2, 3, 4].map((number) => add(intake, number))

    const { groups, ...rest } = readIntake(directory, 2)

    assert.deepEqual(rest, { stranded: [] })
    assert.deepEqual(
      groups.map(({ bytes: found, ...head }) => [
        head,
        Buffer.compare(found, bytes[head.number - 1]!),
      ]),
      [
        [{ number: 3, at: 103, position: 0, count: 1 }, 0],
        [{ number: 4, at: 104, position: 0, count: 1 }, 0],
      ],
    )
    assert.deepEqual(readIntake(directory, 4), { groups: [], stranded: [] })
  })

  test('tells its writer when somebody else has the directory, whichever file is written to', (t) => {
    const directory = directoryFor(t)
    const intake = opened(t, directory)
    add(intake, 1)
    assert.equal(intake.isSealed, false)

    sealIntake(directory)

    for (let n = 0; n < 2; n++) {
      assert.equal(intake.isSealed, true)
      intake.turn()
    }
    assert.deepEqual(numbers(readIntake(directory, 0).groups), [1])
  })

  test('takes turns with its files, and never mistakes what stood there before', (t) => {
    const directory = directoryFor(t)
    const intake = opened(t, directory)
    const large = FILE_BYTES / 3
    let turns = 0
    for (let number = 1; number <= 20; number++) {
      if (!intake.hasRoom(large + 100)) turns++
      add(intake, number, number % 3 === 0 ? large : large - 500)
      const filed = intake.lastOfOther
      assert.ok(filed >= number - 4)
      const expected = Array.from({ length: number - filed }, (_, index) => filed + 1 + index)
      assert.deepEqual(numbers(readIntake(directory, filed).groups), expected)
    }
    assert.ok(turns > 5)
  })

  test('takes a group that is larger than a file, and has its length back afterwards', (t) => {
    const directory = directoryFor(t)
    const intake = opened(t, directory)
    add(intake, 1)
    add(intake, 2, FILE_BYTES + 1)
    add(intake, 3)
    assert.deepEqual(numbers(readIntake(directory, 1).groups), [2, 3])
    add(intake, 4, FILE_BYTES - 150)
    assert.deepEqual(numbers(readIntake(directory, 2).groups), [3, 4])
    const lengths = readdirSync(directory).map((name) => readFileSync(join(directory, name)).length)
    assert.deepEqual(lengths, [FILE_BYTES, FILE_BYTES])
  })

  test('is whole up to a write that was cut short, at whatever byte', (t) => {
    const directory = directoryFor(t)
    const intake = opened(t, directory)
    add(intake, 1)
    add(intake, 2)
    const last = group(intake, 3)
    for (let length = 0; length < last.length; length++) {
      intake.write(last.subarray(0, length))
      assert.deepEqual(numbers(readIntake(directory, 0).groups), [1, 2])
    }
    intake.write(last)
    assert.deepEqual(numbers(readIntake(directory, 0).groups), [1, 2, 3])
  })

  test('tells damage from a write that was cut short, at whatever byte', (t) => {
    const directory = directoryFor(t)
    const intake = opened(t, directory)
    const bytes = [1, 2, 3].map((number) => add(intake, number))
    const second = bytes[1]!
    for (let offset = 0; offset < second.length; offset++) {
      damage(directory, second, offset)
      const { groups, missing, stranded } = readIntake(directory, 0)
      assert.deepEqual([numbers(groups), missing, numbers(stranded)], [[1], 2, [3]])
      const hurt = Buffer.from(second)
      hurt[offset]! ^= 1
      damage(directory, hurt, offset)
    }
    assert.equal(readIntake(directory, 0).missing, undefined)
  })

  test('of an earlier opening counts for nothing once there is a later one', (t) => {
    const directory = directoryFor(t)
    const before = opened(t, directory, 1)
    add(before, 1)
    const after = opened(t, directory, 2)
    add(before, 2)
    add(after, 2)
    assert.deepEqual(numbers(readIntake(directory, 1).groups), [2])

    removeIntake(directory, 2)

    assert.equal(readdirSync(directory).length, 2)
    assert.deepEqual(numbers(readIntake(directory, 1).groups), [2])
  })

  test('of a directory without one is empty', (t) => {
    assert.deepEqual(readIntake(directoryFor(t), 0), { groups: [], stranded: [] })
  })
})
