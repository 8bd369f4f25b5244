"""Asks for the folder of a parser."""

from pathlib import Path
from typing import Any

import voluptuous as vol
from homeassistant.config_entries import ConfigFlow, ConfigFlowResult

from genie_dp.errors import GenieError
from genie_dp.parser.folder import facts_of

from .const import CONF_FOLDER, DOMAIN

_SCHEMA = vol.Schema({vol.Required(CONF_FOLDER): str})


class GenieConfigFlow(ConfigFlow, domain=DOMAIN):
    """One step: the folder."""

    VERSION = 1

    async def async_step_user(self, user_input: dict[str, Any] | None = None) -> ConfigFlowResult:
        """Take a folder that is one of a parser."""
        errors: dict[str, str] = {}
        if user_input is not None:
            self._async_abort_entries_match(user_input)
            folder = Path(self.hass.config.path(user_input[CONF_FOLDER]))
            try:
                await self.hass.async_add_executor_job(facts_of, folder)
            except (GenieError, OSError):
                errors["base"] = "no_parser"
            else:
                return self.async_create_entry(title=folder.name, data=user_input)
        schema = self.add_suggested_values_to_schema(_SCHEMA, user_input)
        return self.async_show_form(step_id="user", data_schema=schema, errors=errors)
