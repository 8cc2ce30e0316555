import { existsSync } from 'node:fs'
import { SetupFailure } from '../server/setup/setup-failure'
import { step } from '../server/setup/step'
import { canInstall, installPackages } from './apt'

/** Chromium without windows: a page costs it a third less processor time, and a start a quarter. */
const SHELL = '/usr/lib/chromium/chromium-headless-shell'
const CHROMIUM = '/usr/bin/chromium'
/** Without the font package, pages render without text. */
const PACKAGES = ['chromium-headless-shell', 'fonts-noto-core']

/** The browser that the browser tests start. */
export function browserPath(): string {
  return existsSync(SHELL) ? SHELL : CHROMIUM
}

/**
 * Installs Chromium's headless shell for the browser tests of `verify`, if it is missing. Needs root and apt; otherwise an installed
 * Chromium serves, and without one the error says what to install. Returns whether it installed anything.
 */
export async function installBrowser(): Promise<boolean> {
  if (existsSync(SHELL)) return false
  const hasChromium = existsSync(CHROMIUM)
  if (!canInstall()) {
    if (hasChromium) return false
    throw new SetupFailure(
      `The browser tests need Chromium at ${SHELL} or ${CHROMIUM}. Install it (Debian: apt-get install -y ${PACKAGES.join(' ')}), or run verify as root on a system with apt.`,
    )
  }
  try {
    await step('Installing Chromium for the browser tests', () =>
      installPackages(PACKAGES, 'Chromium is needed for the browser tests'),
    )
  } catch (failure) {
    if (hasChromium) return false
    throw failure
  }
  if (!existsSync(SHELL)) throw new SetupFailure(`apt-get installed Chromium, but not at ${SHELL}.`)
  return true
}
