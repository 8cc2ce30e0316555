import { SETTINGS_TEXT } from '../../messages/settings.ts'
import { SHELL_TEXT } from '../../messages/shell.ts'
import { useSignal } from '../../signal.ts'
import { chooseTheme, type Theme, theme } from '../../ui/browser/theme.ts'
import { Choice, Choices } from '../../ui/field.tsx'
import { Card } from '../../ui/layout/card.tsx'

const THEMES: readonly Theme[] = ['system', 'light', 'dark']

export function ThemeCard() {
  const chosen = useSignal(theme)
  return (
    <Card title={SETTINGS_TEXT.appearance}>
      <Choices legend={SHELL_TEXT.theme}>
        {THEMES.map((name) => (
          <Choice
            key={name}
            name="theme"
            value={name}
            checked={name === chosen}
            onChange={() => chooseTheme(name)}
            label={SHELL_TEXT.themes[name]}
          />
        ))}
      </Choices>
    </Card>
  )
}
