/**
 * Secrets in one encrypted file.
 *
 * The file is JSON, and its first member is the version of this form:
 *
 *   { "flytower-secrets": 1, "scrypt": { "N", "r", "p", "salt" }, "iv", "tag", "data" }
 *
 * `data` is a JSON object of secrets by name, each an object of fields, under AES-256-GCM; the key comes
 * from a passphrase through scrypt. Everything before `data` is authenticated with it. A change of the
 * form is a new version: what is there must go on being read.
 */
import { createCipheriv, createDecipheriv, randomBytes, scrypt } from 'node:crypto'
import { open, readFile, rename, rm, stat } from 'node:fs/promises'
import { promisify } from 'node:util'

import { PRODUCT } from '../../std/index.ts'
import { badSecret, secretNotFound, secretsUnavailable, type SecretAccident } from './accidents.ts'
import { fieldsOf, isRecord, isSecretName } from './fields.ts'
import type { SecretSource } from './secrets.ts'

/** Secrets by name, each with its fields. */
export type StoredSecrets = Readonly<Record<string, Readonly<Record<string, string>>>>

export type SecretFileOptions = Readonly<{
  path: string
  /** Asked for when it is needed: from a variable, or from a file that only the server can read. */
  passphrase: () => Promise<string>
}>

export const SECRET_FILE_BYTES_MAX = 8_388_608
export const SECRETS_MAX = 1_000
export const PASSPHRASE_CHARS_MIN = 12

const VERSION = 1
const FORM = 'flytower-secrets'
const SCRYPT = { N: 131_072, r: 8, p: 1 } as const
const SCRYPT_BYTES_MAX = 256 * 1_024 * 1_024

const derive = promisify<string, Buffer, number, Readonly<Record<string, number>>, Buffer>(scrypt)

/** The file is read again when it has changed. */
export function fileSecrets(options: SecretFileOptions): SecretSource {
  let known: Readonly<{ changed: string; secrets: Promise<StoredSecrets> }> | undefined

  return {
    async resolve(name) {
      const changed = await changeOf(options.path)
      if (known?.changed !== changed) {
        const secrets = readSecretFile(options)
        known = { changed, secrets }
        secrets.catch(() => (known = undefined))
      }
      const secrets = await known.secrets
      const fields = Object.hasOwn(secrets, name) ? secrets[name] : undefined
      if (fields === undefined)
        throw secretNotFound(
          name,
          'the secret file',
          `put it there: ${PRODUCT} secret put ${name} --from FILE`,
        )
      return fieldsOf(name, fields)
    },
  }
}

/** A file that is not there has nothing in it. */
export async function readSecretFile(options: SecretFileOptions): Promise<StoredSecrets> {
  const text = await contentOf(options.path)
  return text === undefined ? {} : decrypt(text, await options.passphrase())
}

export async function putSecret(
  options: SecretFileOptions,
  name: string,
  fields: Readonly<Record<string, string>>,
): Promise<void> {
  if (!isSecretName(name))
    throw badSecret(name, 'it cannot be named so', 'use letters, digits and . _ / - between them')
  fieldsOf(name, fields)
  const secrets = { ...(await readSecretFile(options)), [name]: fields }
  if (Object.keys(secrets).length > SECRETS_MAX)
    throw badSecret(name, `the file has ${SECRETS_MAX} secrets already`, 'remove some of them')
  await write(options, secrets)
}

/** Names alone; values are nobody's to list. */
export async function listSecrets(
  options: SecretFileOptions,
): Promise<readonly Readonly<{ name: string; fields: readonly string[] }>[]> {
  return Object.entries(await readSecretFile(options))
    .map(([name, fields]) => ({ name, fields: Object.keys(fields).toSorted() }))
    .toSorted((a, b) => (a.name < b.name ? -1 : 1))
}

/** Whether it was there. */
export async function removeSecret(options: SecretFileOptions, name: string): Promise<boolean> {
  const secrets = await readSecretFile(options)
  if (!Object.hasOwn(secrets, name)) return false
  const { [name]: _, ...others } = secrets
  await write(options, others)
  return true
}

/** From the variable when it is set, and from the first line of the file otherwise. */
export function passphraseFrom(
  from: Readonly<{ variable: string | undefined; file: string | undefined }>,
): () => Promise<string> {
  return async () => {
    const { variable, file } = from
    if (variable !== undefined && variable !== '') return variable
    if (file === undefined)
      throw unusable('there is no passphrase', 'give one in the environment or in a file')
    const text = await contentOf(file)
    if (text === undefined) throw unusable('the key file is not there', 'make it, or mend its path')
    return text.split(/\r?\n/, 1)[0] ?? ''
  }
}

async function write(options: SecretFileOptions, secrets: StoredSecrets): Promise<void> {
  const text = await encrypt(secrets, await options.passphrase())
  const partial = `${options.path}.partial`
  await rm(partial, { force: true })
  const file = await open(partial, 'wx', 0o600)
  try {
    await file.writeFile(text)
    await file.sync()
  } finally {
    await file.close()
  }
  await rename(partial, options.path)
}

async function encrypt(secrets: StoredSecrets, passphrase: string): Promise<string> {
  if (passphrase.length < PASSPHRASE_CHARS_MIN)
    throw unusable(
      `the passphrase has fewer than ${PASSPHRASE_CHARS_MIN} characters`,
      'choose a longer one',
    )
  const salt = randomBytes(16)
  const iv = randomBytes(12)
  const head = {
    [FORM]: VERSION,
    scrypt: { ...SCRYPT, salt: salt.toString('base64') },
    iv: iv.toString('base64'),
  }
  const cipher = createCipheriv('aes-256-gcm', await keyOf(passphrase, salt, SCRYPT), iv)
  cipher.setAAD(Buffer.from(JSON.stringify(head)))
  const data = Buffer.concat([cipher.update(JSON.stringify(secrets), 'utf8'), cipher.final()])
  const tag = cipher.getAuthTag().toString('base64')
  return `${JSON.stringify({ ...head, tag, data: data.toString('base64') }, undefined, 2)}\n`
}

async function decrypt(text: string, passphrase: string): Promise<StoredSecrets> {
  const { head, salt, iv, tag, data, cost } = parse(text)
  const decipher = createDecipheriv('aes-256-gcm', await keyOf(passphrase, salt, cost), iv, {
    authTagLength: 16,
  })
  decipher.setAAD(Buffer.from(JSON.stringify(head)))
  decipher.setAuthTag(tag)
  try {
    const plain = Buffer.concat([decipher.update(data), decipher.final()])
    const secrets: StoredSecrets = JSON.parse(plain.toString('utf8')) // nobody else can have written it
    return secrets
  } catch {
    throw unusable(
      'the passphrase is wrong, or the file was changed',
      'use the one it was made with',
    )
  }
}

type Parsed = Readonly<{
  head: unknown
  salt: Buffer
  iv: Buffer
  tag: Buffer
  data: Buffer
  cost: Readonly<Record<string, number>>
}>

function parse(text: string): Parsed {
  let read: unknown
  try {
    read = JSON.parse(text)
  } catch {
    read = undefined
  }
  if (!isRecord(read) || !(FORM in read)) throw unusable('it is no secret file', 'mend its path')
  const { [FORM]: version, scrypt: cost, iv, tag, data } = read
  if (version !== VERSION)
    throw unusable('it was written by a later version', 'use that version, or a newer one')
  const { N, r, p, salt } = isRecord(cost) ? cost : {}
  const numbers = [N, r, p]
  // What a stranger wrote there must not decide how much memory is taken.
  const isBearable =
    numbers.every((each) => Number.isInteger(each) && Number(each) >= 1) &&
    128 * Number(N) * Number(r) * Number(p) <= SCRYPT_BYTES_MAX
  if (!isBearable) throw unusable('it is damaged', 'put back a copy')
  return {
    head: { [FORM]: version, scrypt: { N, r, p, salt }, iv },
    salt: bytesOf(salt),
    iv: bytesOf(iv, 12),
    tag: bytesOf(tag, 16),
    data: bytesOf(data),
    cost: { N: Number(N), r: Number(r), p: Number(p) },
  }
}

function bytesOf(value: unknown, length?: number): Buffer {
  const bytes = typeof value === 'string' ? Buffer.from(value, 'base64') : Buffer.alloc(0)
  if (length !== undefined && bytes.length !== length)
    throw unusable('it is damaged', 'put back a copy')
  return bytes
}

function keyOf(
  passphrase: string,
  salt: Buffer,
  cost: Readonly<Record<string, number>>,
): Promise<Buffer> {
  return derive(passphrase.normalize('NFC'), salt, 32, { ...cost, maxmem: 2 * SCRYPT_BYTES_MAX })
}

async function contentOf(path: string): Promise<string | undefined> {
  try {
    const { size } = await stat(path)
    if (size > SECRET_FILE_BYTES_MAX) throw unusable('it is too large', 'mend its path')
    return await readFile(path, 'utf8')
  } catch (error) {
    if (isMissing(error)) return undefined
    throw error instanceof Error && 'errno' in error
      ? unusable('it cannot be read', 'give the user of the server the right to read it')
      : error
  }
}

async function changeOf(path: string): Promise<string> {
  try {
    const { mtimeMs, size, ino } = await stat(path)
    return `${mtimeMs} ${size} ${ino}`
  } catch (error) {
    if (isMissing(error)) return 'none'
    throw unusable('it cannot be read', 'give the user of the server the right to read it')
  }
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT'
}

function unusable(why: string, remedy: string): SecretAccident {
  return secretsUnavailable('the secret file', why, { isTransient: false, remedy })
}
