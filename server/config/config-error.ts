/** An invalid setting. Startup ends with its message, one line that never contains a secret. */
export class ConfigError extends Error {}
