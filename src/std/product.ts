/** The product's name, written once so that renaming it is one commit. */
export const PRODUCT = 'flytower'
