import '../look/base.css'
import './chat.css'
import { render } from 'preact'
import { applyTheme, readTheme } from '../look/theme'
import { App } from './App'

applyTheme(readTheme())
render(<App />, document.body)
