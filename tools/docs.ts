/**
 * What the documents claim and what the code has, each as a list, so that a test can hold one to the
 * other in both directions. Everything but the reading of files is a pure function over text.
 */
import { existsSync, globSync, readFileSync } from 'node:fs'
import { posix } from 'node:path'

import { codeOf, isTest, type Source } from './source.ts'

export type Block = Readonly<{
  page: string
  line: number
  runs: boolean
  /** What it is called, where other blocks of its page import it. */
  file?: string
  code: string
}>

/** Commands for a shell, and what they print where the page shows it. */
export type ShellBlock = Readonly<{ page: string; line: number; code: string; shown?: string }>

const LIMIT =
  /\bexport\s+const\s+([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)*_(?:MAX|MIN|MS|BYTES|CHARS|DEFAULT|LIMIT))\b/g
const FENCE = /^( *)```(\S*)([^\n]*)\n([\s\S]*?)^\1```$/gm

export function documents(): Source[] {
  return globSync(['*.md', 'docs/**/*.md', 'examples/**/*.md', 'bench/*.md'])
    .map((path) => path.replaceAll('\\', '/'))
    .filter((path) => !path.includes('node_modules/'))
    .toSorted()
    .map((path) => ({ path, text: readFileSync(path, 'utf8') }))
}

/** The code of every fault that is made in `src`; a code that is not written out is a finding. */
export function faultCodes(files: readonly Source[]): { codes: string[]; findings: string[] } {
  const codes = new Set<string>()
  const findings: string[] = []
  for (const { path, text } of files.filter((file) => isProduct(file.path))) {
    const code = codeOf(text)
    for (const { index, 0: call } of code.matchAll(
      /(?<!function\s)\bfault\s*(?:<[^>()]*>)?\(\s*/g,
    )) {
      const literal = /^'([^'\\\n]*)'/.exec(text.slice(index + call.length))?.[1]
      if (literal !== undefined) codes.add(literal)
      else findings.push(`${path}: the code of a fault is written where the fault is made`)
    }
  }
  return { codes: [...codes].toSorted(), findings }
}

/** Exported limits by the file that declares them. */
export function limitNames(files: readonly Source[]): { path: string; name: string }[] {
  return files
    .filter((file) => isProduct(file.path))
    .flatMap(({ path, text }) =>
      [...codeOf(text).matchAll(LIMIT)].map((match) => ({ path, name: match[1]! })),
    )
}

/** Environment variables with the product's prefix that `src` names in a string. */
export function configKeys(files: readonly Source[], product: string): string[] {
  const key = new RegExp(`['"\`](${product.toUpperCase()}_[A-Z0-9_]+)['"\`]`, 'g')
  const keys = files
    .filter((file) => isProduct(file.path))
    .flatMap(({ text }) => [...text.matchAll(key)].map((match) => match[1]!))
  return [...new Set(keys)].toSorted()
}

/** The rows of a page's tables whose first cell is a name in back-quotes, by that name. */
export function tableRows(text: string): Map<string, readonly string[]> {
  const rows = new Map<string, readonly string[]>()
  for (const line of text.split('\n')) {
    const name = /^\| *`([^`]+)` *\|/.exec(line)?.[1]
    if (name === undefined) continue
    const cells = line.split('|').slice(2, -1)
    rows.set(
      name,
      cells.map((cell) => cell.trim()),
    )
  }
  return rows
}

/** The numbers of a cell; `10 000`, `10_000`, `10,000` and `10000` are the same. */
export function numbersIn(cell: string): number[] {
  return [...cell.matchAll(/(?:\d{1,3}(?:[_, \u202f]\d{3})+|\d+)(?:\.\d+)?/g)].map(([digits]) =>
    Number(digits.replace(/[^\d.]/g, '')),
  )
}

/** What a page says under a heading, up to the next heading of the same rank. */
export function section(text: string, heading: string): string {
  const rank = /^#+ /.exec(heading)?.[0] ?? ''
  const from = `\n${text}`.indexOf(`\n${heading}\n`)
  if (from < 0) return ''
  const body = text.slice(from + heading.length)
  const to = body.indexOf(`\n${rank}`)
  return to < 0 ? body : body.slice(0, to)
}

/** The names, of values and of types, that a door exports. */
export function exportedNames(text: string): string[] {
  return [...codeOf(text).matchAll(/\bexport\s+(?:type\s+)?\{([^}]*)\}/g)].flatMap(
    ([, list = '']) =>
      list
        .split(',')
        .map((each) => each.trim().replace(/^type\s+|^.*\sas\s+/g, ''))
        .filter((name) => name !== ''),
  )
}

/** The words of a type that is a union of words. */
export function wordsOf(text: string, type: string): string[] {
  const union = new RegExp(`\\btype ${type} =((?:\\s*\\|?\\s*'[^'\\n]*')+)`).exec(text)?.[1] ?? ''
  return [...union.matchAll(/'([^']*)'/g)].map((match) => match[1]!)
}

/** The paths to all figures in nested data: `a`, `b.c`. */
export function leavesOf(value: Readonly<Record<string, unknown>>): string[] {
  return Object.entries(value).flatMap(([key, inner]) => {
    if (typeof inner !== 'object' || inner === null) return [key]
    const below = leavesOf({ ...inner })
    return below.length === 0 ? [key] : below.map((path) => `${key}.${path}`)
  })
}

const OUR_FILE = /^(?:(?:src|tools|test|examples|bench|docs)\/[\w./-]*|[\w-]+\.md)$/

/** Files that the tables of a page name, each with the tests that are quoted behind it in its row. */
export function testClaims(text: string): { line: number; file: string; tests: string[] }[] {
  return text.split('\n').flatMap((row, n) => {
    if (!row.startsWith('|')) return []
    const claims: { line: number; file: string; tests: string[] }[] = []
    for (const [, code = '', quoted = ''] of row.matchAll(/`([^`]+)`|"([^"]+)"/g)) {
      if (OUR_FILE.test(code)) claims.push({ line: n + 1, file: code, tests: [] })
      if (quoted !== '') claims.at(-1)?.tests.push(quoted)
    }
    return claims
  })
}

/** Relative links that lead nowhere: no such file, or no such heading in it. */
export function brokenLinks(
  pages: readonly Source[],
  exists: (path: string) => boolean = existsSync,
): string[] {
  const anchors = new Map(pages.map(({ path, text }) => [path, headingAnchors(text)]))
  return pages.flatMap(({ path, text }) =>
    linksOf(text).flatMap((link) => {
      const [file = '', anchor] = link.split('#')
      const target = file === '' ? path : posix.join(posix.dirname(path), decodeURI(file))
      if (target.startsWith('../') || !exists(target)) return [`${path}: ${link} leads nowhere`]
      const known = anchors.get(target)
      if (anchor === undefined || anchor === '' || known === undefined || known.has(anchor))
        return []
      return [`${path}: ${link} names no heading`]
    }),
  )
}

/** Fenced blocks of TypeScript; marked `no-run`, one must compile but is not run; marked `a.ts`, it has that name. */
export function codeBlocks(pages: readonly Source[]): Block[] {
  return pages.flatMap(({ path, text }) =>
    [...text.matchAll(FENCE)]
      .filter(([, , language]) => language === 'ts')
      .map(({ index, 1: indent = '', 3: mark = '', 4: code = '' }) => ({
        page: path,
        line: text.slice(0, index).split('\n').length,
        runs: !mark.split(' ').includes('no-run'),
        ...fileOf(mark),
        code: code.replaceAll(new RegExp(`^${indent}`, 'gm'), ''),
      })),
  )
}

/** Fenced blocks marked `sh run`; the block of json or text right behind one is what it prints. */
export function shellBlocks(pages: readonly Source[]): ShellBlock[] {
  return pages.flatMap(({ path, text }) => {
    const fences = [...text.matchAll(FENCE)]
    return fences.flatMap(({ index, 0: whole, 2: language, 3: mark = '', 4: code = '' }, n) => {
      if (language !== 'sh' || !mark.split(' ').includes('run')) return []
      const next = fences[n + 1]
      const between = text.slice(index + whole.length, next?.index)
      const isShown = /^(?:json|text)$/.test(next?.[2] ?? '') && between.trim() === ''
      const line = text.slice(0, index).split('\n').length
      return [{ page: path, line, code, ...(isShown && { shown: next![4]! }) }]
    })
  })
}

/** Whether the output is what was shown; `…` stands for anything, and white space in JSON for none. */
export function printsAsShown(printed: string, shown: string): boolean {
  const tidy = (text: string): string =>
    /^\s*[[{]/.test(shown) ? text.replaceAll(/\s+/g, '') : text.replaceAll('\r', '').trim()
  const parts = tidy(shown).split('…')
  const pattern = parts.map((part) => part.replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&')).join('[^]*?')
  return new RegExp(`^${pattern}$`).test(tidy(printed))
}

function fileOf(mark: string): Pick<Block, 'file'> {
  const file = mark.split(' ').find((word) => word.endsWith('.ts'))
  return file === undefined ? {} : { file }
}

function isProduct(path: string): boolean {
  return path.startsWith('src/') && !isTest(path)
}

function linksOf(text: string): string[] {
  const prose = text.replace(FENCE, '').replace(/`[^`\n]*`/g, '')
  return [/\]\(\s*<?([^)\s>]+)/g, /^\[[^\]]+\]:\s*(\S+)/gm, /\b(?:href|src)="([^"]+)"/g]
    .flatMap((pattern) => [...prose.matchAll(pattern)].map((match) => match[1]!))
    .filter((link) => !/^[a-z][a-z0-9+.-]*:/i.test(link))
}

// As GitHub makes them: lower case, punctuation dropped, spaces to hyphens, repeats numbered.
function headingAnchors(text: string): Set<string> {
  const anchors = new Set<string>()
  for (const [, heading = ''] of text.replace(FENCE, '').matchAll(/^#{1,6} +(.+?) *#*$/gm)) {
    const base = heading
      .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s_-]/gu, '')
      .replace(/\s/g, '-')
    let anchor = base
    for (let n = 1; anchors.has(anchor); n++) anchor = `${base}-${n}`
    anchors.add(anchor)
  }
  return anchors
}
