import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import fc from 'fast-check'

import {
  isLess,
  isNegative,
  isPositive,
  minus,
  numberOf,
  plus,
  QUANTITY_DECIMALS_MAX,
  QUANTITY_MAX,
  quantityOf,
} from './quantity.ts'

/** Millionths, and the text of them that a person would write. */
const millionths = fc.bigInt({ min: -(10n ** 21n), max: 10n ** 21n })
const quantities = millionths.map((amount) => quantityOf(written(amount))!)

function written(amount: bigint): string {
  const digits = (amount < 0n ? -amount : amount).toString().padStart(7, '0')
  return `${amount < 0n ? '-' : ''}${digits.slice(0, -6)}.${digits.slice(-6)}`
}

function amountOf(quantity: string): bigint {
  const [whole = '', decimals = ''] = quantity.replace('-', '').split('.')
  const magnitude = BigInt(whole + decimals.padEnd(6, '0'))
  return quantity.startsWith('-') ? -magnitude : magnitude
}

describe('a quantity', () => {
  test('is read from a number or a decimal text, and written one way', () => {
    const readings: [unknown, string][] = [
      [0, '0'],
      [-0, '0'],
      ['-0.000', '0'],
      [150.5, '150.5'],
      ['150.50', '150.5'],
      ['007', '7'],
      ['0.000001', '0.000001'],
      [-3, '-3'],
    ]
    for (const [given, expected] of readings)
      assert.equal(quantityOf(given), expected, String(given))
  })

  test('is none of these', () => {
    const others = ['', ' 1', '1 ', '+1', '1e3', '.5', '1.', '1,5', 'NaN', '0x10', '1_000', '١']
    const values = [NaN, Infinity, -Infinity, 1e21, null, undefined, true, [1], {}, 1n]
    for (const given of [...others, ...values]) assert.equal(quantityOf(given), undefined)
  })

  test('has six decimals and not seven', () => {
    assert.equal(QUANTITY_DECIMALS_MAX, 6)
    assert.equal(quantityOf('1.123456'), '1.123456')
    assert.equal(quantityOf(1.123456), '1.123456')
    assert.equal(quantityOf('1.1234567'), undefined)
    assert.equal(quantityOf(1.1234567), undefined)
    assert.equal(quantityOf(0.1 + 0.2), undefined) // whoever adds binary fractions sends them
  })

  test('is at most 10^15 either way, and not a millionth more', () => {
    assert.equal(QUANTITY_MAX, 10 ** 15)
    for (const sign of ['', '-']) {
      assert.equal(quantityOf(`${sign}1000000000000000`), `${sign}1000000000000000`)
      assert.equal(quantityOf(`${sign}1000000000000000.000001`), undefined)
    }
    assert.equal(quantityOf(QUANTITY_MAX), '1000000000000000')
    assert.equal(quantityOf(QUANTITY_MAX + 1), undefined)
  })

  test('of one millionth comes as a number too', () => {
    assert.equal(quantityOf(0.000001), '0.000001')
    assert.equal(quantityOf(0.0000001), undefined)
  })

  test('is the same text exactly if it is the same amount', () => {
    fc.assert(
      fc.property(millionths, millionths, (a, b) => {
        const [one, other] = [quantityOf(written(a))!, quantityOf(written(b))!]
        assert.equal(amountOf(one), a)
        assert.equal(one === other, a === b)
        assert.equal(quantityOf(one), one)
      }),
    )
  })

  test('adds up exactly, whatever the order, also beyond what anybody may say', () => {
    fc.assert(
      fc.property(fc.array(quantities, { maxLength: 20 }), (all) => {
        const sum = all.reduce(plus, '0')
        assert.equal(
          amountOf(sum),
          all.map(amountOf).reduce((a, b) => a + b, 0n),
        )
        assert.equal(all.toReversed().reduce(plus, '0'), sum)
        assert.equal(all.reduce(minus, sum), '0')
      }),
    )
    assert.equal(plus('0.1', '0.2'), '0.3')
    assert.equal(plus(String(QUANTITY_MAX), String(QUANTITY_MAX)), '2000000000000000')
  })

  test('compares as its amount does', () => {
    fc.assert(
      fc.property(quantities, quantities, (a, b) => {
        assert.equal(isLess(a, b), amountOf(a) < amountOf(b))
        assert.equal(isPositive(a), amountOf(a) > 0n)
        assert.equal(isNegative(a), amountOf(a) < 0n)
      }),
    )
  })

  test('goes out as a JSON number that reads as the same quantity, up to fifteen digits', () => {
    fc.assert(
      fc.property(
        fc.bigInt({ min: -999_999_999_999_999n, max: 999_999_999_999_999n }),
        (amount) => {
          const quantity = quantityOf(written(amount))!
          const sent = JSON.stringify(numberOf(quantity))
          if (!sent.includes('e')) assert.equal(quantityOf(JSON.parse(sent)), quantity)
        },
      ),
    )
  })
})
