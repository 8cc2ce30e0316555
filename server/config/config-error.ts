/** An invalid setting. Startup ends with its message, one line that never contains a secret. */
export class ConfigError extends Error {}

/** Called with a mistake in the settings. */
export type OnMistake = (mistake: ConfigError) => void

/** A start ends with the first one. */
export const throwMistake: OnMistake = (mistake) => {
  throw mistake
}

/** Runs a step and hands its mistake on, so that the next step can be taken too. */
export function collecting(onMistake: OnMistake, step: () => void): void {
  try {
    step()
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    onMistake(error)
  }
}
