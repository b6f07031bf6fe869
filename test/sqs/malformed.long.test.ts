/** A million malformed requests; see `malformed.ts`. */
import { test } from 'node:test'

import { withstands } from './malformed.ts'

test('a million malformed requests break nothing', (t) => withstands(t, 1_000_000))
