/**
 * Masks a value of JSON: every text in it, names of fields as well, and the bodies of attachments
 * however they are encoded.
 */
import type { Mask } from '../secrets/secrets.ts'
import { isRecord } from './channel.ts'

export function masked(value: unknown, mask: Pick<Mask, 'text'>): unknown {
  if (typeof value === 'string') return mask.text(value)
  if (Array.isArray(value)) return value.map((each) => masked(each, mask))
  if (!isRecord(value)) return value
  const isEncoded = value['contentEncoding'] === 'BASE64'
  return Object.fromEntries(
    Object.entries(value).map(([name, each]) => [
      mask.text(name),
      isEncoded && name === 'body' && typeof each === 'string'
        ? maskedBase64(each, mask)
        : masked(each, mask),
    ]),
  )
}

/** Bytes that are no text stay as they are, unless there is a secret among them. */
function maskedBase64(body: string, mask: Pick<Mask, 'text'>): string {
  const bytes = Buffer.from(body, 'base64')
  const utf8 = bytes.toString('utf8')
  const encoding = Buffer.from(utf8, 'utf8').equals(bytes) ? 'utf8' : 'latin1'
  const text = encoding === 'utf8' ? utf8 : bytes.toString('latin1')
  const hidden = mask.text(text)
  return hidden === text ? body : Buffer.from(hidden, encoding).toString('base64')
}
