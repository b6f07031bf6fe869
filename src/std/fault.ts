/**
 * A refusal as a value, and the error that carries one where a value cannot go.
 *
 * A fault is plain data: it survives `structuredClone` and JSON, and callers `switch` on its `code`.
 * Codes are a public contract; each stands in `docs/reference/faults.md`. An accident wraps a fault
 * so that what is thrown has the same code and detail as what would have been answered.
 */

export type FaultDetail = Readonly<Record<string, unknown>>

export type Fault<Code extends string = string> = Readonly<{
  ok: false
  code: Code
  message: string
  detail: FaultDetail
}>

const NO_DETAIL: FaultDetail = Object.freeze({})

/** One lower-case sentence in `message`, facts in `detail`; `detail.remedy` says what to do about it. */
export function fault<const Code extends string>(
  code: Code,
  message: string,
  detail: FaultDetail = NO_DETAIL,
): Fault<Code> {
  return { ok: false, code, message, detail }
}

/** Judges any value at all, without ever throwing. */
export function isFault(value: unknown): value is Fault {
  if (typeof value !== 'object' || value === null) return false
  try {
    const { ok, code, message, detail } = value as Partial<Record<keyof Fault, unknown>>
    return (
      ok === false &&
      typeof code === 'string' &&
      typeof message === 'string' &&
      typeof detail === 'object' &&
      detail !== null
    )
  } catch {
    return false // a getter or a proxy trap threw, and no fault of ours has either
  }
}

/** The world failed, or a caller that cannot be answered with a value asked for the impossible. */
export class Accident<Code extends string = string> extends Error {
  override readonly name: string = 'Accident'
  readonly fault: Fault<Code>

  constructor(reason: Fault<Code>, options?: { cause?: unknown }) {
    const { remedy } = reason.detail
    super(typeof remedy === 'string' ? `${reason.message}; ${remedy}` : reason.message, options)
    this.fault = reason
  }

  get code(): Code {
    return this.fault.code
  }

  get detail(): FaultDetail {
    return this.fault.detail
  }
}
