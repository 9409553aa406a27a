// This file has no patterns.
