import { useSignal } from '../../signal.ts'
import { Card } from '../../ui/card.tsx'
import { Choice, Choices } from '../../ui/field.tsx'
import { chooseTheme, type Theme, theme } from '../../ui/theme.ts'
import { SETTINGS_WORDS } from '../../words/settings.ts'
import { SHELL_WORDS } from '../../words/shell.ts'

const THEMES: readonly Theme[] = ['system', 'light', 'dark']

export function ThemeCard() {
  const chosen = useSignal(theme)
  return (
    <Card title={SETTINGS_WORDS.appearance}>
      <Choices legend={SHELL_WORDS.theme}>
        {THEMES.map((name) => (
          <Choice
            key={name}
            name="theme"
            value={name}
            checked={name === chosen}
            onChange={() => chooseTheme(name)}
            label={SHELL_WORDS.themes[name]}
          />
        ))}
      </Choices>
    </Card>
  )
}
