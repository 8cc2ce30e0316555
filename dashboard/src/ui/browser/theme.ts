import { Signal } from '../../signal.ts'

export type Theme = 'system' | 'light' | 'dark'

const STORAGE_KEY = 'theme'

/** The selected theme. `/theme.js` applies it before the first paint. */
export const theme = new Signal<Theme>(stored())

export function chooseTheme(next: Theme): void {
  theme.set(next)
  const { dataset } = document.documentElement
  try {
    if (next === 'system') {
      delete dataset['theme']
      localStorage.removeItem(STORAGE_KEY)
      return
    }
    dataset['theme'] = next
    localStorage.setItem(STORAGE_KEY, next)
  } catch {
    // Without storage the choice lasts only for this page.
  }
}

function stored(): Theme {
  const chosen = document.documentElement.dataset['theme']
  return chosen === 'light' || chosen === 'dark' ? chosen : 'system'
}
