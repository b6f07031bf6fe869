/**
 * `test evidence`: lists what is kept of a run, or brings it here.
 *
 * What a server names is only written where it was asked to: a name is that of a file, never a way to
 * another place, and a file has as many bytes as the list says.
 */
import { mkdir, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'

import { Accident, fault } from '../../std/index.ts'
import { EXIT } from '../io.ts'
import { answer, fieldsOf, pathOf, said, type TestCall } from './test.ts'

type File = Readonly<{ name: string; bytes: number }>

const NAME = /^[A-Za-z0-9_-][A-Za-z0-9._-]{0,254}$/

export async function showEvidence(call: TestCall, testId: string, into: unknown): Promise<number> {
  const told = await call.server.ask('GET', pathOf(testId, '/evidence'))
  const files = Array.isArray(told['files']) ? told['files'].map(fileOf) : []
  if (files.length === 0) {
    answer(call, told, 'there is no evidence')
    return EXIT.fine
  }
  if (typeof into !== 'string')
    return answer(call, told, files.map(({ name, bytes }) => `${name}  ${bytes} bytes`).join('\n'))
  const directory = resolve(call.io.directory, into)
  await mkdir(directory, { recursive: true })
  for (const { name, bytes } of files)
    await writeFile(
      join(directory, name),
      call.server.read(pathOf(testId, `/evidence/${name}`), bytes),
    )
  return answer(call, told, files.map(({ name }) => join(directory, name)).join('\n'))
}

function fileOf(told: unknown): File {
  const { name, bytes } = fieldsOf(told)
  if (typeof name === 'string' && NAME.test(name) && Number.isSafeInteger(bytes))
    return { name, bytes: Number(bytes) }
  throw new Accident(
    fault('server-refused', `the server names ${said(name)}, which no file here is written as`, {
      remedy: 'see whether it is the right server',
    }),
  )
}
