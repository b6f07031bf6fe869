/**
 * The source of this repository as text: its files, its code without comments and strings, and what
 * it imports. TypeScript 7 gives tools no syntax tree; the few things the checks need are read here.
 */
import { globSync, readFileSync } from 'node:fs'
import { posix } from 'node:path'

export type Source = Readonly<{ path: string; text: string }>

export type Import = Readonly<{
  specifier: string
  /** The path within the repository, for a relative specifier. */
  target: string | undefined
  typeOnly: boolean
}>

const FOLDERS = ['src', 'tools', 'examples', 'test', 'bench']

/** Every TypeScript file of ours; what a folder installed, built or borrowed is not. */
export function sourceTree(): Source[] {
  return FOLDERS.flatMap((folder) => globSync(`${folder}/**/*.ts`))
    .map((path) => path.replaceAll('\\', '/'))
    .filter((path) => !/(^|\/)(node_modules|dist|peers|results)\//.test(path))
    .toSorted()
    .map((path) => ({ path, text: readFileSync(path, 'utf8') }))
}

export function isTest(path: string): boolean {
  return path.endsWith('.test.ts') || path.startsWith('test/')
}

/** `src/kernel/internal/cell.ts` is in `kernel`; what is outside `src` is in no folder. */
export function folderOf(path: string): string | undefined {
  return /^src\/([^/]+)\//.exec(path)?.[1]
}

const COMMENT = /\/\/[^\n]*|\/\*[\s\S]*?\*\//y
const STRING = /'(?:[^'\\\n]|\\[\s\S])*'|"(?:[^"\\\n]|\\[\s\S])*"/y
const REGEX = /\/(?:[^/\\[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+\/[a-z]*/y
const TEMPLATE_PART = /(?:[^`\\$]|\\[\s\S]|\$(?!\{))*(?:`|\$\{)/y
const ENDS_OPERAND = /[\w$)\]]$|(?<!=)>$/ // a slash behind it divides
const ENDS_KEYWORD = /\b(?:return|typeof|case|of|in|await|yield|else|do|void|throw)$/

/**
 * The text with comments and the insides of strings, templates and regular expressions blanked out
 * and every offset kept. Code inside `${…}` is code.
 */
export function codeOf(text: string): string {
  let code = ''
  const open: number[] = [] // for each `${` not yet closed, how many braces are open within
  const take = (token: RegExp): string | undefined => {
    token.lastIndex = code.length
    return token.exec(text)?.[0]
  }
  const startsRegex = (): boolean => {
    const before = code.trimEnd().slice(-12)
    return !ENDS_OPERAND.test(before) || ENDS_KEYWORD.test(before)
  }
  const template = (): void => {
    const part = take(TEMPLATE_PART) ?? text.slice(code.length)
    const ends = part.endsWith('${') ? '${' : '`'
    code += blank(part.slice(0, -ends.length)) + ends
    if (ends === '${') open.push(0)
  }

  while (code.length < text.length) {
    const char = text[code.length]!
    const comment = char === '/' ? take(COMMENT) : undefined
    const literal = take(STRING) ?? (char === '/' && startsRegex() ? take(REGEX) : undefined)
    if (comment !== undefined) code += blank(comment)
    else if (literal !== undefined) code += char + blank(literal.slice(1, -1)) + literal.at(-1)!
    else {
      code += char
      if (char === '`') template()
      else if (char === '{' && open.length > 0) open[open.length - 1]! += 1
      else if (char === '}' && open.length > 0 && (open[open.length - 1]! -= 1) < 0) {
        open.pop()
        template()
      }
    }
  }
  return code
}

function blank(text: string): string {
  return text.replace(/[^\n]/g, ' ')
}

const IMPORTS = [
  /\b(?:import|export)\s+(?<type>type\s)?[^'"();=]*?\bfrom\s*(?=['"])/g,
  /\bimport\s*(?=['"])/g,
  /\bimport\s*\(\s*(?=['"])/g,
  /\bnew\s+URL\s*\(\s*(?=['"][^'"]*['"]\s*,\s*import\.meta\.url)/g,
]

/** Static and dynamic imports, re-exports, and files named by `new URL('…', import.meta.url)`. */
export function importsOf({ path, text }: Source): Import[] {
  const code = codeOf(text)
  return IMPORTS.flatMap((pattern) =>
    [...code.matchAll(pattern)].map((match) => {
      const quoteAt = match.index + match[0].length
      const specifier = text.slice(quoteAt + 1, code.indexOf(code[quoteAt]!, quoteAt + 1))
      const target = /^\.{1,2}(?:\/|$)/.test(specifier)
        ? posix.join(posix.dirname(path), specifier).replace(/\.js$/, '.ts')
        : undefined
      return { specifier, target, typeOnly: match.groups?.['type'] !== undefined }
    }),
  )
}
