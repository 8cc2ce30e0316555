/** A setting that cannot be used. Its message is the one line that the start ends with; it never repeats a secret. */
export class ConfigError extends Error {}
