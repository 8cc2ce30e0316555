import { type ReactNode, useRef } from 'react'
import { CopyButton } from './copy-button.tsx'

/** Code or text with a copy button. Scrolls within itself, also by keyboard. */
export function CodeBlock({ label, code, copyLabel, copyTone, onCopied, tall = false, children }: CodeBlockProps) {
  const shown = useRef<HTMLElement>(null)
  return (
    <div className="grid min-w-0 gap-3">
      <pre
        // Scrollable regions must be reachable by keyboard.
        tabIndex={0}
        role="region"
        aria-label={label}
        className={`overflow-auto rounded-md bg-sunken px-4 py-3 ${tall ? 'max-h-120' : ''}`}
      >
        <code ref={shown} className="code">
          {code}
        </code>
      </pre>
      <div className="flex flex-wrap items-center gap-2">
        <CopyButton
          label={copyLabel}
          text={code}
          shownIn={shown}
          {...(copyTone && { tone: copyTone })}
          {...(onCopied && { onCopied })}
        />
        {children}
      </div>
    </div>
  )
}

type CodeBlockProps = {
  label: string
  code: string
  copyLabel: string
  copyTone?: 'primary' | 'plain'
  onCopied?: () => void
  tall?: boolean
  /** More buttons, next to the copy button. */
  children?: ReactNode
}
