"""A parser of genie-dp as a conversation agent: local, and without torch."""

from pathlib import Path

from homeassistant.config_entries import ConfigEntry
from homeassistant.const import Platform
from homeassistant.core import HomeAssistant
from homeassistant.exceptions import ConfigEntryError

from genie_dp.errors import GenieError

from .agent import Agent
from .const import CONF_FOLDER

PLATFORMS = (Platform.CONVERSATION,)


async def async_setup_entry(hass: HomeAssistant, entry: ConfigEntry) -> bool:
    """Read the parser, which takes some seconds, outside of the event loop."""
    folder = Path(hass.config.path(entry.data[CONF_FOLDER]))
    try:
        entry.runtime_data = await hass.async_add_executor_job(Agent.from_folder, folder)
    except GenieError as error:
        raise ConfigEntryError(error.problems[0].message) from error
    await hass.config_entries.async_forward_entry_setups(entry, PLATFORMS)
    return True


async def async_unload_entry(hass: HomeAssistant, entry: ConfigEntry) -> bool:
    """Take the agent away."""
    return await hass.config_entries.async_unload_platforms(entry, PLATFORMS)
