/** The version of the gateway (semver), as in package.json. */
export const VERSION = '0.2.0'

/** What it calls itself in requests to others. */
export const PRODUCT = `paid-api-gateway/${VERSION}`
