/**
 * How a value may look where somebody printed it: as it is, or as one of the encodings that clients,
 * logs and reports put texts through.
 *
 * In base64 a value is found inside of a longer text too: there are three ways its bits can fall, and
 * of each the characters that depend on nothing else are looked for.
 */
import { inspect } from 'node:util'

/** A line of a longer value, such as a key in PEM, is looked for by itself. */
const LINE_CHARS_MIN = 8
const FORM_CHARS_MIN = 4
/** An event in a report of an event that somebody logged; each time what is quoted gets longer. */
const NESTED_MAX = 4

export function formsOf(value: string): ReadonlySet<string> {
  const forms = new Set<string>()
  const lines = value.split(/\r?\n/).filter((line) => line.length >= LINE_CHARS_MIN)
  for (const text of new Set([value, ...lines]))
    for (const form of [
      text,
      ...escaped(text),
      ...inMarkup(text),
      ...inUrl(text),
      ...inBase64(text),
      ...inHex(text),
      Buffer.from(text, 'utf8').toString('latin1'), // in bytes that are no text as a whole
    ])
      if (form.length >= FORM_CHARS_MIN) forms.add(form)
  return forms
}

/** In JSON, as Node shows texts, and either within JSON, within JSON. */
function escaped(text: string): string[] {
  const json = inQuotes(text)
  const ascii = json.replace(
    /[^\x20-\x7e]/g,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
  return [
    json,
    ascii,
    ascii.replace(/\\u[0-9a-f]{4}/g, (code) => `\\u${code.slice(2).toUpperCase()}`),
    json.replaceAll('/', String.raw`\/`),
    inspect(text, { maxStringLength: null, breakLength: Infinity }).slice(1, -1),
  ].flatMap(nested)
}

function nested(form: string): string[] {
  const forms = [form]
  while (forms.length <= NESTED_MAX) forms.push(inQuotes(forms.at(-1)!))
  return forms
}

function inQuotes(text: string): string {
  return JSON.stringify(text).slice(1, -1)
}

/** In HTML and XML, as text and in attributes. */
function inMarkup(text: string): string[] {
  const plain = text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
  const quoted = plain.replaceAll('"', '&quot;')
  return [
    plain,
    quoted,
    ...['&#39;', '&#x27;', '&apos;'].map((apostrophe) => quoted.replaceAll("'", apostrophe)),
  ]
}

function inUrl(text: string): string[] {
  if (!text.isWellFormed()) return []
  const part = encodeURIComponent(text)
  const strict = part.replace(
    /[!'()*]/g,
    (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`,
  )
  const form = new URLSearchParams([['', text]]).toString().slice(1)
  const upper = [part, strict, form, encodeURI(text)]
  return [
    ...upper,
    ...upper.map((one) => one.replace(/%[0-9A-F]{2}/g, (code) => code.toLowerCase())),
  ]
}

function inBase64(text: string): string[] {
  const bytes = Buffer.from(text, 'utf8')
  const whole = bytes.toString('base64')
  const within = [0, 1, 2].map((before) => {
    const encoded = Buffer.concat([Buffer.alloc(before), bytes]).toString('base64')
    const bits = (before + bytes.length) * 8
    return encoded.slice(Math.ceil((before * 8) / 6), Math.floor(bits / 6))
  })
  const all = [whole, whole.replaceAll('=', ''), ...within]
  return [...all, ...all.map((one) => one.replaceAll('+', '-').replaceAll('/', '_'))]
}

function inHex(text: string): string[] {
  const hex = Buffer.from(text, 'utf8').toString('hex')
  return [hex, hex.toUpperCase()]
}
