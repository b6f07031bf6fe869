/** Jest compiles nothing here: types are stripped as Node itself strips them, and modules stay modules. */
export default {
  testMatch: ['**/jest.test.mjs'],
  transform: { '\\.ts$': './strip-types.mjs' },
  extensionsToTreatAsEsm: ['.ts'],
}
