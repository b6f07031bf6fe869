/**
 * `secret …`: looks after the encrypted file that tests have their secrets from. Values come in from a
 * file, or a pipe, so that none is in the history of a shell, and none is ever shown.
 */
import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'

import { listSecrets, putSecret, removeSecret, type SecretFileOptions } from '../../probe/index.ts'
import { Accident, fault } from '../../std/index.ts'
import type { Asked } from '../cli.ts'
import { EXIT, type Io } from '../io.ts'
import { secretFileOf } from '../probe-feature.ts'

export async function writeSecret(
  asked: Asked,
  name: string,
  from: string,
  io: Io,
): Promise<number> {
  const file = fileOf(asked, io)
  await putSecret(file, name, await fieldsIn(resolve(io.directory, from)))
  return told(asked, { name }, `${name} is in ${file.path}`, io)
}

export async function showSecrets(asked: Asked, io: Io): Promise<number> {
  const secrets = await listSecrets(fileOf(asked, io))
  const lines = secrets.map(({ name, fields }) => `${name}  ${fields.join(', ')}`)
  return told(
    asked,
    { secrets },
    lines.length === 0 ? 'there are no secrets' : lines.join('\n'),
    io,
  )
}

export async function dropSecret(asked: Asked, name: string, io: Io): Promise<number> {
  const wasThere = await removeSecret(fileOf(asked, io), name)
  told(asked, { name, removed: wasThere }, wasThere ? `${name} is gone` : `there is no ${name}`, io)
  return wasThere ? EXIT.fine : EXIT.trouble
}

function fileOf({ config: { config } }: Asked, io: Io): SecretFileOptions {
  const file = secretFileOf(config, io.environment)
  if (file !== undefined) return { ...file, path: resolve(io.directory, file.path) }
  throw new Accident(
    fault('bad-usage', 'no file of secrets is configured', {
      remedy:
        'set probe.secrets.file, and FLYTOWER_SECRETS_PASSPHRASE or probe.secrets.passphraseFile',
    }),
  )
}

async function fieldsIn(path: string): Promise<Readonly<Record<string, string>>> {
  const text = await readFile(path, 'utf8').catch((error: unknown) => {
    throw unreadable(path, error instanceof Error ? error.message : String(error))
  })
  const fields = parsed(text)
  if (fields === undefined) throw unreadable(path, 'it is no JSON object whose values are texts') // which must not be shown
  return fields
}

function parsed(text: string): Readonly<Record<string, string>> | undefined {
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined
    return Object.values(value).every((field) => typeof field === 'string')
      ? { ...value }
      : undefined
  } catch {
    return undefined
  }
}

function unreadable(path: string, why: string): Accident {
  return new Accident(
    fault('unreadable-file', `${path} cannot be read as a secret: ${why}`, {
      remedy: 'write the fields as JSON: {"username": "…", "password": "…"}',
    }),
  )
}

function told({ json }: Asked, value: object, text: string, io: Io): number {
  io.out(`${json ? JSON.stringify(value, undefined, 2) : text}\n`)
  return EXIT.fine
}
