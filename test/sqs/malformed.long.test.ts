/** 200 000 malformed requests; see `malformed.ts`. */
import { test } from 'node:test'

import { withstands } from './malformed.ts'

test('200 000 malformed requests break nothing', (t) => withstands(t, 200_000))
