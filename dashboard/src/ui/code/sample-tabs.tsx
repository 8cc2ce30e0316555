import { type ReactNode, useState } from 'react'
import { UI_TEXT } from '../../messages/ui.ts'
import { LANGUAGES, type Language, type Sample, snippet } from '../../sample.ts'
import { Tabs } from '../layout/tabs.tsx'
import { CodeBlock } from './code-block.tsx'

/** A request as curl, JavaScript and Python. */
export function SampleTabs({ sample, onCopied, children }: SampleTabsProps) {
  const [language, setLanguage] = useState<Language>('curl')
  return (
    <Tabs label={UI_TEXT.language} tabs={LANGUAGES} chosen={language} onChoose={setLanguage}>
      <CodeBlock
        label={UI_TEXT.code}
        code={snippet(language, sample)}
        copyLabel={UI_TEXT.copyCommand}
        {...(onCopied && { onCopied })}
      >
        {children}
      </CodeBlock>
    </Tabs>
  )
}

type SampleTabsProps = { sample: Sample; onCopied?: () => void; children?: ReactNode }
