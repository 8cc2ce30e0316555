import { version } from '../../package.json'

/** The version of the gateway (semver). */
export const VERSION: string = version

/** The product token in requests to others. */
export const PRODUCT = `paid-api-gateway/${VERSION}`
