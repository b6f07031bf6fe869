/**
 * How long an answer of somebody else may be used, by its `Cache-Control` and `Age`.
 *
 * Without a word about it, an answer is fresh for nobody, and may be used while its owner cannot be
 * reached. `no-store` is not kept at all.
 */

export type Freshness = Readonly<{
  /** For how long it may be used without asking. */
  freshMs: number
  /** For how long after that it may be used if asking fails. */
  staleMs: number
}>

const NONE: Freshness = { freshMs: 0, staleMs: 0 }

export function freshnessOf(
  headers: Readonly<Record<string, string | undefined>>,
  staleMs: number,
): Freshness {
  const directives = directivesOf(headers['cache-control'] ?? '')
  if (directives.has('no-store')) return NONE
  const maxAge = seconds(directives.get('max-age')) ?? 0
  const age = seconds(headers['age']) ?? 0
  const isSure = directives.has('no-cache')
  const mustAsk = directives.has('must-revalidate')
  return {
    freshMs: isSure ? 0 : Math.max(0, maxAge - age) * 1_000,
    staleMs: mustAsk ? 0 : (seconds(directives.get('stale-if-error')) ?? staleMs / 1_000) * 1_000,
  }
}

function directivesOf(header: string): ReadonlyMap<string, string> {
  return new Map(
    header.split(',').map((part) => {
      const [name = '', value = ''] = part.split('=', 2)
      return [name.trim().toLowerCase(), value.trim().replace(/^"|"$/g, '')]
    }),
  )
}

function seconds(text: string | undefined): number | undefined {
  return text !== undefined && /^\d{1,9}$/.test(text) ? Number(text) : undefined
}
